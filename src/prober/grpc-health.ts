/** The answers of `grpc.health.v1.Health/Check`, by number. */
const servingStatuses = ['UNKNOWN', 'SERVING', 'NOT_SERVING', 'SERVICE_UNKNOWN'] as const;

/** Bytes of flag and length before a gRPC message. */
const prefixBytes = 5;

/** A `HealthCheckRequest` as it goes over the wire: prefix, then field 1 with the service's name. */
export function encodeCheck(service: string): Buffer {
  const name = Buffer.from(service);
  const message =
    name.length === 0 ? name : Buffer.concat([Buffer.from([0x0a, ...varint(name.length)]), name]);
  const prefix = Buffer.alloc(prefixBytes);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

function varint(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  for (; rest > 0x7f; rest >>>= 7) bytes.push((rest & 0x7f) | 0x80);
  return [...bytes, rest];
}

/** The status inside a `HealthCheckResponse`; `UNKNOWN` when it tells none. */
export function decodeServingStatus(body: Buffer): string {
  const message = body.subarray(prefixBytes);
  const at = message.indexOf(0x08);
  if (at !== 0 || message.length < 2) return 'UNKNOWN';
  const value = message[1] ?? 0;
  return servingStatuses[value] ?? String(value);
}
