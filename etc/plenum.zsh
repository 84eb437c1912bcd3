#compdef plenum
# SPDX-License-Identifier: BSD-3-Clause
# zsh completion for plenum(1). Commands and options come from 'plenum --help', names of legs from the agent.
_plenum() {
	local -a said names
	local help line
	said=(${${(@)words[2,CURRENT-1]}:#-*})
	[[ $said[1] == help ]] && shift said
	help=$(plenum --help 2>/dev/null)
	if [[ $PREFIX == -* ]]; then
		help+=$(plenum help ${said[1,2]} 2>/dev/null || plenum help ${said[1]} 2>/dev/null)
		names=(${(uf)"$(grep -oE -- '(^|[ ,])--?[a-zA-Z][a-z0-9-]*' <<<$help | tr -d ' ,')"})
		compadd -a names
		return
	fi
	case "$said" in
	"net show" | "net set" | "net label" | "net enable" | "net disable" | "net remove")
		names=(${(f)"$(plenum net show -o LEG --no-header 2>/dev/null)"})
		compadd -a names
		return ;;
	"fault remove")
		names=(all ${(f)"$(plenum fault show -o ID --no-header 2>/dev/null)"})
		compadd -a names
		return ;;
	"captures end")
		names=(${(f)"$(plenum captures -o ID --no-header 2>/dev/null)"})
		compadd -a names
		return ;;
	"pool remove" | "pool set")
		names=(${(f)"$(plenum pool show -o POOL --no-header 2>/dev/null)"})
		compadd -a names
		return ;;
	plan | doctor | validate | diff | "config show" | "config stage" | inventory | metrics | support | secret\ *)
		_files
		return ;;
	esac
	# The help has lines such as "  net show         list the legs" and "  status           show the state".
	if (( $#said == 0 )); then
		names=(${(f)"$(sed -nE 's/^  ([a-z]+)  +(.*)/\1:\2/p; s/^  ([a-z]+) [a-z]+ .*/\1:commands of \1/p' <<<$help | sort -u -t: -k1,1)"})
	else
		names=(${(f)"$(sed -nE "s/^  $said ([a-z]+)  +(.*)/\1:\2/p" <<<$help)"})
	fi
	_describe command names
}
_plenum "$@"
