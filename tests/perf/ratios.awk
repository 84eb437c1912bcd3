# SPDX-License-Identifier: BSD-3-Clause
# Draws lines "PART LOAD PEER TIMES": a bar for each, from the line of 1 to the right where Plenum is faster and to the
# left where the peer is; twice and half as fast are bars of one length.
BEGIN {
	split("#3b6ea5 #c8762b #5a8f4a #8a5a9e #a8423f", colours)
	left = 150; middle = 420; width = 760; row = 16; octave = 50
}
{
	group = $1 " " $2
	if (group != before)
		y += row / 2
	before = group
	if (!($3 in colour))
		colour[$3] = colours[n_peers++ % 5 + 1]
	length_px = log($4) / log(2) * octave
	if (length_px > width - middle - 60) length_px = width - middle - 60
	if (length_px < left + 10 - middle) length_px = left + 10 - middle
	x = length_px < 0 ? middle + length_px : middle
	bars = bars sprintf("<text x=\"%d\" y=\"%d\" text-anchor=\"end\">%s</text>\n", left - 8, y + row - 4, group)
	bars = bars sprintf("<rect x=\"%.1f\" y=\"%d\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", x, y + 2, \
		length_px < 0 ? -length_px : length_px, row - 3, colour[$3])
	bars = bars sprintf("<text x=\"%.1f\" y=\"%d\">%.2f x %s</text>\n", (length_px < 0 ? middle : x + length_px) + 5, \
		y + row - 4, $4, $3)
	y += row
}
END {
	printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" font-family=\"sans-serif\" font-size=\"11\">\n", \
		width, y + 40
	print "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>"
	print "<text x=\"10\" y=\"18\" font-size=\"13\">How many times as fast as the peer (bars to the left: slower)</text>"
	printf "<g transform=\"translate(0,26)\">\n<line x1=\"%d\" x2=\"%d\" y1=\"0\" y2=\"%d\" stroke=\"#000000\"/>\n%s</g>\n</svg>\n", \
		middle, middle, y, bars
}
