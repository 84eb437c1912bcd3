# SPDX-License-Identifier: BSD-3-Clause
# fish completion for plenum(1). Commands and options come from 'plenum --help', names of legs from the agent.
function __plenum_complete
	set -l said (string match -v -- '-*' (commandline -opc))
	set -e said[1]
	test "$said[1]" = help; and set -e said[1]
	set -l help (plenum --help 2>/dev/null)
	if string match -q -- '-*' (commandline -ct)
		set -a help (plenum help $said[1..2] 2>/dev/null; or plenum help $said[1] 2>/dev/null)
		string match -ar -- '(?:^|[ ,])--?[a-zA-Z][a-z0-9-]*' $help | string trim -c ' ,' | sort -u
		return
	end
	switch "$said"
		case 'net show' 'net set' 'net label' 'net enable' 'net disable' 'net remove'
			plenum net show -o LEG --no-header 2>/dev/null
		case 'fault remove'
			echo all
			plenum fault show -o ID --no-header 2>/dev/null
		case 'captures end'
			plenum captures -o ID --no-header 2>/dev/null
		case 'pool remove' 'pool set'
			plenum pool show -o POOL --no-header 2>/dev/null
		case plan doctor validate diff 'config show' 'config stage' inventory metrics support 'secret *'
			__fish_complete_path (commandline -ct)
		case ''
			# The help has lines such as "  net show         list the legs" and "  status           show the state".
			string replace -rf -- '^  ([a-z]+)  +(.*)$' '$1\t$2' $help
			string replace -rf -- '^  ([a-z]+) [a-z]+ .*$' '$1\tcommands of $1' $help | sort -u
		case '*'
			string replace -rf -- "^  $said ([a-z]+)  +(.*)\$" '$1\t$2' $help
	end
end
complete -c plenum -f -a '(__plenum_complete)'
