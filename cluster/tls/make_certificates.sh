#!/bin/sh
# A private certificate authority, and certificates for a scheduler, workers and
# the people who may use them.
#
#   cluster/tls/make_certificates.sh FOLDER NAME...
#   cluster/tls/make_certificates.sh tls scheduler worker alice bob
#
# FOLDER/ca.pem and ca.key are made the first time and kept afterwards, so names
# can be added later. Each NAME gets NAME.pem, NAME.key and NAME.yaml, settings of
# Dask that use them: export DASK_CONFIG=FOLDER/NAME.yaml. Certificates hold for
# 365 days (DAYS=... for another time). Needs openssl.
set -eu
if [ $# -lt 2 ]; then
    echo "usage: $0 FOLDER NAME..." >&2
    exit 2
fi
folder=$1
shift
days=${DAYS:-365}
# keys are for their owner's eyes only
umask 077
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
if [ ! -f "$folder/ca.key" ]; then
    openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -sha256 -days 3650 \
        -subj "/CN=distkern certificate authority" \
        -keyout "$folder/ca.key" -out "$folder/ca.pem" 2>/dev/null
    echo "$folder/ca.key signs certificates: keep it off the cluster"
fi
for name in "$@"; do
    case $name in
    ca | *[!A-Za-z0-9._-]*)
        echo "$name: names are letters, digits, '.', '_' and '-', and not 'ca'" >&2
        exit 2
        ;;
    esac
    if [ -f "$folder/$name.pem" ] && [ "${RENEW:-no}" != yes ]; then
        echo "$folder/$name.pem is there already (RENEW=yes makes a new one)" >&2
        exit 2
    fi
    openssl req -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -sha256 -subj "/CN=$name" \
        -keyout "$folder/$name.key" -out "$folder/$name.csr" 2>/dev/null
    openssl x509 -req -sha256 -days "$days" -in "$folder/$name.csr" \
        -CA "$folder/ca.pem" -CAkey "$folder/ca.key" -CAcreateserial \
        -out "$folder/$name.pem" 2>/dev/null
    rm "$folder/$name.csr"
    cat >"$folder/$name.yaml" <<SETTINGS
distributed:
  comm:
    require-encryption: true
    tls:
      ca-file: $folder/ca.pem
      scheduler: {cert: $folder/$name.pem, key: $folder/$name.key}
      worker: {cert: $folder/$name.pem, key: $folder/$name.key}
      client: {cert: $folder/$name.pem, key: $folder/$name.key}
SETTINGS
    echo "$folder/$name.yaml"
done
