#!/bin/sh
# Fails if an object of ops/kernels/<isa>/ defines a weak symbol. Usage: nm_check.sh NM OBJECT...
nm=$1
shift
checked=0
for object in "$@"; do
  case $object in
    */kernels/*/*) ;;
    *) continue ;;
  esac
  checked=$((checked + 1))
  if ! symbols=$("$nm" "$object"); then
    echo "cannot read $object"
    exit 1
  fi
  # V, W: weak and defined. u: unique. v, w are references only.
  if echo "$symbols" | grep -E ' [VWu] '; then
    echo "weak symbols in $object"
    exit 1
  fi
done
echo "$checked kernel objects hold no weak symbols"
[ "$checked" -gt 0 ]
