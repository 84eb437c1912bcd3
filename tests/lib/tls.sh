# SPDX-License-Identifier: BSD-3-Clause
# Certificates for tests: sourced by bash scripts after e2e.sh. The files are in $work.
#
#   authority NAME		makes an authority: NAME.key and NAME.pem
#   certificate NAME AUTHORITY ADDRESS OPENSSL-OPTION...
#				makes NAME.key and NAME.pem for that address, signed by the authority

authority() {
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj "/CN=$1" -keyout "$work/$1.key" -out "$work/$1.pem" 2>>"$work/openssl.log"
}

certificate() {
	openssl req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" -keyout "$work/$1.key" -out "$work/$1.csr" 2>>"$work/openssl.log" &&
		openssl x509 -req -in "$work/$1.csr" -CA "$work/$2.pem" -CAkey "$work/$2.key" -CAcreateserial -extfile <(echo "subjectAltName=IP:$3") \
			"${@:4}" -out "$work/$1.pem" 2>>"$work/openssl.log"
}
