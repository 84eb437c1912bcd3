# SPDX-License-Identifier: BSD-3-Clause
# The part `api` of the measurements: reads of the agent's API against nginx, which serves the same bytes as a file, and
# against etcd, which has them as the value of a key, all at Unix sockets with persistent connections; the monitor's
# processor time meanwhile; and the memory of the process that serves 1,000 streams of events. Sourced by run.

api_role_pid() { # api_role_pid ROLE: in the host's numbering; `monitor` is the agent itself
	if [ "$1" = monitor ]; then
		host_run host-a pgrep -o -x plenumd
	else
		host_run host-a pgrep -f -- "--role $1( |\$)"
	fi
}

api_ticks() { # api_ticks PID: user and system clock ticks
	host_run host-a cut -d' ' -f14,15 "/proc/$1/stat" | awk '{ print $1 + $2 }'
}

api_nginx() { # starts nginx with one process; it serves the answer of GET /v1/status
	host_run host-a mkdir -p "$work/www/v1"
	api host-a /v1/status >"$work/www/v1/status"
	cat >"$work/nginx.conf" <<-EOF2
		worker_processes 1;
		daemon off;
		user root;
		pid $work/nginx.pid;
		error_log $work/nginx.log;
		events { worker_connections 1024; }
		http {
			access_log off;
			sendfile on;
			default_type application/json;
			keepalive_requests 1000;
			client_body_temp_path $work/nginx.1; proxy_temp_path $work/nginx.2; fastcgi_temp_path $work/nginx.3;
			uwsgi_temp_path $work/nginx.4; scgi_temp_path $work/nginx.5;
			server { listen unix:$work/nginx.sock; root $work/www; }
		}
	EOF2
	host_run host-a nginx -e "$work/nginx.log" -c "$work/nginx.conf" &
	api_peer=$!
	for _ in $(seq 100); do
		[ ! -S "$work/nginx.sock" ] || break
		pause 0.05
	done
	nginx_pid=$(host_run host-a pgrep -f 'nginx: worker process')
}

# The key `status`, in base64. etcd may read it from its own memory, without asking other members.
readonly api_etcd_range='{"key":"c3RhdHVz","serializable":true}'

api_etcd() { # starts one member of etcd, with the answer of GET /v1/status as the value of a key
	packages_install etcd-server
	# etcd makes its sockets in the current folder, and puts ":0" after their names.
	host_run host-a sh -c 'cd "$1" && exec etcd --name m --data-dir etcd --log-level error \
		--listen-client-urls unix://etcd.sock:0 --advertise-client-urls http://localhost:2379 \
		--listen-peer-urls unix://peer.sock:0 --initial-advertise-peer-urls http://localhost:2380 \
		--initial-cluster m=http://localhost:2380' sh "$work" >"$work/etcd.log" 2>&1 &
	wait_until 20 host_run host-a test -S "$work/etcd.sock:0" || die "etcd did not start"
	host_run host-a pgrep -o -x etcd >"$work/etcd.pid"
	printf '{"key":"c3RhdHVz","value":"%s"}' "$(base64 -w0 "$work/www/v1/status")" |
		host_run host-a curl -sSf --unix-socket "$work/etcd.sock:0" http://etcd/v3/kv/put -d @- >>"$work/etcd.log" 2>&1 ||
		die "etcd did not take the key"
}

# Appends answers per second, and answers per second of the server's processor time.
api_measure() { # api_measure ARM SOCKET CONNECTIONS PID [PATH BODY]
	local before after rate seconds=2
	before=$(api_ticks "$4")
	rate=$(host_run host-a "$build/tests/perf/http_load" "$2" "${5:-/v1/status}" "$3" $seconds "${@:6}")
	after=$(api_ticks "$4")
	echo "$rate" >>"$work/rate$3.$1"
	awk "BEGIN { t = $after - $before; print $rate * $seconds * $(getconf CLK_TCK) / (t > 0 ? t : 1) }" >>"$work/core$3.$1"
}

api_streams() { # memory with so many streams, and a minute of events later
	local pid=$1 n=$2 before with after
	before=$(host_run host-a awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")
	host_run host-a "$here/api_streams.py" "$n" >"$work/streams" 2>&1 &
	api_clients=$!
	for _ in $(seq 600); do
		grep -qs '^open' "$work/streams" && break
		kill -0 $api_clients || die "the streams ended: $(cat "$work/streams")"
		pause 0.1
	done
	with=$(host_run host-a awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")
	pause 20
	kill -0 $api_clients || die "the streams ended: $(cat "$work/streams")"
	after=$(host_run host-a awk '/^VmRSS/ { print $2 }' "/proc/$pid/status")
	kill $api_clients
	wait $api_clients || :
	printf 'memory of the api process, KiB: %d; with %d idle streams %d; 20 s later %d\n' "$before" "$n" "$with" "$after"
}

part_api() {
	local round n pid monitor ticks since arm column
	packages_install nginx-light
	hosts_start
	pid=$(api_role_pid api) monitor=$(api_role_pid monitor)
	api_nginx
	arm_try etcd api_etcd
	pause 0.1 # the status has the state of running workers
	printf '\nGET /v1/status, %d bytes, at a Unix socket, on persistent connections\n' "$(wc -c <"$work/www/v1/status")"
	ticks=0
	rounds_begin "$rounds"
	while round_next; do
		for n in 1 8; do
			since=$(api_ticks "$monitor")
			api_measure plenum /run/plenum/plenumd.sock $n "$pid"
			ticks=$((ticks + $(api_ticks "$monitor") - since))
			api_measure nginx "$work/nginx.sock" $n "$nginx_pid"
			arm_try etcd api_measure etcd "$work/etcd.sock:0" $n "$(cat "$work/etcd.pid" 2>/dev/null)" /v3/kv/range "$api_etcd_range"
		done
	done
	printf '%-10s %-12s %12s %12s %12s %8s %8s\n' connections answers plenum nginx etcd vs-nginx vs-etcd
	for n in 1 8; do
		for column in rate core; do
			echo "$n $column $(arm_figure plenum $column$n) $(arm_figure nginx $column$n) $(arm_figure etcd $column$n)"
		done
	done | awk -v ratios="$work/ratios" '
		function times(peer) { return peer == "-" ? peer : $3 / peer }
		function shown(v, form, last) { return v == "-" ? v : sprintf(form, v) last }
		{
			printf "%-10d %-12s %12.0f %12.0f %12s %8s %8s\n", $1, $2 == "rate" ? "/s" : "/core-s", $3, $4, shown($5, "%.0f"),
				shown(times($4), "%.2f", "x"), shown(times($5), "%.2f", "x")
			if ($2 == "core" && $4 != "-") print "api GET" $1, "nginx", times($4) >>ratios
			if ($2 == "core" && $5 != "-") print "api GET" $1, "etcd", times($5) >>ratios
		}'
	arms_say
	awk -v t=$ticks -v n=$((2 * round)) -v hz="$(getconf CLK_TCK)" \
		'BEGIN { printf "the monitor'"'"'s share of a core while the API is loaded: %.1f %%\n", t / hz / (n * 2) * 100 }'
	kill $api_peer && wait $api_peer || :
	[ ! -s "$work/etcd.pid" ] || host_run host-a kill "$(cat "$work/etcd.pid")" || :
	api_streams "$pid" 1000
	hosts_down
}
