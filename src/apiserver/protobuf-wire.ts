/** Protobuf's wire format, as far as it is written here. */
function varint(value: bigint): Buffer {
  const out: number[] = [];
  let rest = BigInt.asUintN(64, value);
  for (; rest > 0x7fn; rest >>= 7n) out.push(Number(rest & 0x7fn) | 0x80);
  out.push(Number(rest));
  return Buffer.from(out);
}

/** A field that holds a number. */
export const int = (number: number, value: number | bigint): Buffer =>
  Buffer.concat([varint(BigInt(number * 8)), varint(BigInt(value))]);

/** A field that holds text, bytes or a message. */
export const bytes = (number: number, value: Buffer | string): Buffer => {
  const body = typeof value === 'string' ? Buffer.from(value) : value;
  return Buffer.concat([varint(BigInt(number * 8 + 2)), varint(BigInt(body.length)), body]);
};

/** A field that holds a 64-bit floating point number. */
export function double(number: number, value: number): Buffer {
  const body = Buffer.alloc(8);
  body.writeDoubleLE(value);
  return Buffer.concat([varint(BigInt(number * 8 + 1)), body]);
}
