# SPDX-License-Identifier: BSD-3-Clause
# The part `api` of the measurements: reads of the agent's API against nginx, which serves the same bytes as a file, both
# at Unix sockets with persistent connections; the monitor's processor time meanwhile; and the memory of the process that
# serves 1,000 streams of events. Sourced by run.

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

# Appends answers per second, and answers per second of the server's processor time.
api_measure() { # api_measure ARM SOCKET CONNECTIONS PID
	local before after rate seconds=2
	before=$(api_ticks "$4")
	rate=$(host_run host-a "$build/tests/perf/http_load" "$2" /v1/status "$3" $seconds)
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
	local round n pid monitor ticks since arm
	packages_install nginx-light
	hosts_start
	pid=$(api_role_pid api) monitor=$(api_role_pid monitor)
	api_nginx
	pause 0.1 # the status has the state of running workers
	printf '\nGET /v1/status, %d bytes, at a Unix socket, on persistent connections\n' "$(wc -c <"$work/www/v1/status")"
	ticks=$(api_ticks "$monitor") since=$EPOCHREALTIME
	rounds_begin "$rounds"
	while round_next; do
		for n in 1 8; do
			api_measure plenum /run/plenum/plenumd.sock $n "$pid"
			api_measure nginx "$work/nginx.sock" $n "$nginx_pid"
		done
	done
	printf '%-14s %12s %12s %8s %16s %16s %8s\n' connections plenum/s nginx/s ratio "plenum/core-s" "nginx/core-s" ratio
	for n in 1 8; do
		local values=()
		for arm in plenum nginx; do values+=("$(median <"$work/rate$n.$arm")" "$(median <"$work/core$n.$arm")"); done
		awk -v n=$n -v a="${values[0]}" -v b="${values[2]}" -v c="${values[1]}" -v d="${values[3]}" \
			'BEGIN { printf "%-14d %12.0f %12.0f %7.2fx %16.0f %16.0f %7.2fx\n", n, a, b, a / b, c, d, c / d }'
		awk -v n=$n -v c="${values[1]}" -v d="${values[3]}" 'BEGIN { print "api GET" n, "nginx", c / d }' >>"$work/ratios"
	done
	# Half of the time nginx has the load.
	awk -v t=$(($(api_ticks "$monitor") - ticks)) -v s="$since" -v e="$EPOCHREALTIME" -v hz="$(getconf CLK_TCK)" \
		'BEGIN { printf "the monitor'"'"'s share of a core while the API is loaded: %.1f %%\n", t / hz / ((e - s) / 2) * 100 }'
	kill $api_peer && wait $api_peer || :
	api_streams "$pid" 1000
	hosts_down
}
