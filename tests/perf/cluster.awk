# SPDX-License-Identifier: BSD-3-Clause
# Draws the figures of tests/perf/cluster as three graphs beside each other, over the number of hosts: etcd's processor
# time and its memory, each with its goal at 1,000 hosts as a dashed line, and the traffic of a host.
BEGIN {
	left = 56; gap = 250; top = 50; height = 150; width = 160
}
{
	n++
	hosts[n] = $1; value[1, n] = $3; value[2, n] = $4; value[3, n] = $5
	if ($1 > most) most = $1
}
function x(i, g) { return left + (g - 1) * gap + hosts[i] / most * width }
function y(v, g) { return top + height - v / limit[g] * height }
function nice(v,    p) { # the next 1, 2 or 5 times a power of ten
	p = 1
	while (p * 10 <= v) p *= 10
	return v <= p ? p : v <= 2 * p ? 2 * p : v <= 5 * p ? 5 * p : 10 * p
}
function text(tx, ty, anchor, words) {
	printf "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", tx, ty, anchor, words
}
function graph(g, title, goal,    i, v, points, at) {
	limit[g] = goal
	for (i = 1; i <= n; i++)
		if (value[g, i] > limit[g]) limit[g] = value[g, i]
	limit[g] = nice(limit[g] * 1.05)
	at = left + (g - 1) * gap
	printf "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"#000000\"/>\n", at, top, top + height, at + width
	text(at, top - 12, "start", title)
	for (i = 0; i <= 2; i++)
		text(at - 5, y(limit[g] * i / 2, g) + 4, "end", limit[g] * i / 2)
	if (goal)
		printf "<path d=\"M%d %.1fh%d\" stroke=\"#a8423f\" stroke-dasharray=\"5 4\"/>\n", at, y(goal, g), width
	for (i = 1; i <= n; i++) {
		v = value[g, i]
		points = points sprintf("%s%.1f %.1f", i == 1 ? "M" : "L", x(i, g), y(v, g))
		printf "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"#3b6ea5\"/>\n", x(i, g), y(v, g)
		text(x(i, g), y(v, g) - 7, "middle", v < 100 ? sprintf("%.1f", v) : sprintf("%d", v))
		text(x(i, g), top + height + 15, "middle", hosts[i])
	}
	printf "<path d=\"%s\" fill=\"none\" stroke=\"#3b6ea5\" stroke-width=\"2\"/>\n", points
}
END {
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"11\">\n", \
		left + 3 * gap - 50, top + height + 40
	print "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"
	print "<text x=\"10\" y=\"18\" font-size=\"13\">Hosts of a cluster in which nothing changes, one etcd member (dashed: goal at 1,000 hosts)</text>"
	graph(1, "etcd: % of a core", 10)
	graph(2, "etcd: memory, MiB", 200)
	graph(3, "a host and etcd: bytes a second", 0)
	for (g = 1; g <= 3; g++)
		text(left + (g - 1) * gap + width / 2, top + height + 31, "middle", "hosts")
	print "</svg>"
}
