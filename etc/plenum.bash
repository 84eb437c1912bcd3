# SPDX-License-Identifier: BSD-3-Clause
# bash completion for plenum(1). Commands and options come from 'plenum --help', names of legs from the agent.
_plenum() {
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words=() w last= help
	for w in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
		[[ $w == -* || $last == --@(socket|host|token-file|ca|pin) ]] || words+=("$w")
		last=$w
	done
	case $prev in
	--socket | --token-file | --ca | --snapshot | --inventory | --write | -w | --keys) COMPREPLY=($(compgen -f -- "$cur")) && return ;;
	esac
	help=$(plenum --help 2>/dev/null)
	if [[ $cur == -* ]]; then
		help+=$(plenum help "${words[@]:0:2}" 2>/dev/null || plenum help "${words[0]}" 2>/dev/null)
		COMPREPLY=($(compgen -W "$(grep -oE -- '(^|[ ,])--?[a-zA-Z][a-z0-9-]*' <<<"$help" | tr -d ' ,')" -- "$cur"))
		return
	fi
	case "${words[*]}" in
	"net show" | "net set" | "net label" | "net enable" | "net disable" | "net remove")
		COMPREPLY=($(compgen -W "$(plenum net show -o LEG --no-header 2>/dev/null)" -- "$cur")) ;;
	plan | doctor | validate | diff | "config show" | "config stage" | inventory | metrics | support | secret\ *)
		COMPREPLY=($(compgen -f -- "$cur")) ;;
	"fault remove")
		COMPREPLY=($(compgen -W "all $(plenum fault show -o ID --no-header 2>/dev/null)" -- "$cur")) ;;
	"pool remove" | "pool set")
		COMPREPLY=($(compgen -W "$(plenum pool show -o POOL --no-header 2>/dev/null)" -- "$cur")) ;;
	"locks break")
		COMPREPLY=($(compgen -W "$(plenum locks -o ID --no-header 2>/dev/null)" -- "$cur")) ;;
	"captures end")
		COMPREPLY=($(compgen -W "$(plenum captures -o ID --no-header 2>/dev/null)" -- "$cur")) ;;
	"" | captures | cluster | net | config | history | locks | pool | secret | fault | rdma | worker | help | help\ captures | help\ cluster | help\ net | help\ config | help\ history | help\ locks | help\ pool | help\ secret | help\ fault | help\ rdma | help\ worker)
		words=("${words[@]#help}")
		w="${words[*]}"
		w=${w# }
		COMPREPLY=($(compgen -W "$(sed -n "s/^  ${w:+$w }\([a-z]\{1,\}\).*/\1/p" <<<"$help" | sort -u)" -- "$cur")) ;;
	esac
}
complete -F _plenum plenum
