import { tableOf } from '../../base/own.ts';
/** Go's names of TLS alerts, by number. */
const alerts: Readonly<Record<number, string>> = {
  0: 'close notify',
  10: 'unexpected message',
  20: 'bad record MAC',
  21: 'decryption failed',
  22: 'record overflow',
  30: 'decompression failure',
  40: 'handshake failure',
  42: 'bad certificate',
  43: 'unsupported certificate',
  44: 'revoked certificate',
  45: 'expired certificate',
  46: 'unknown certificate',
  47: 'illegal parameter',
  48: 'unknown certificate authority',
  49: 'access denied',
  50: 'error decoding message',
  51: 'error decrypting message',
  60: 'export restriction',
  70: 'protocol version not supported',
  71: 'insufficient security level',
  80: 'internal error',
  86: 'inappropriate fallback',
  90: 'user canceled',
  100: 'no renegotiation',
  109: 'missing extension',
  110: 'unsupported extension',
  111: 'certificate unobtainable',
  112: 'unrecognized name',
  113: 'bad certificate status response',
  114: 'bad certificate hash value',
  115: 'unknown PSK identity',
  116: 'certificate required',
  120: 'no application protocol',
  121: 'encrypted client hello required',
};

/** Go's messages for errors that OpenSSL detects. */
const ownFaults: Readonly<Record<string, string>> = tableOf({
  'decryption failed or bad record mac': 'local error: tls: bad record MAC',
  'bad signature': 'tls: invalid signature by the server certificate',
  'unexpected message': 'local error: tls: unexpected message',
  'no shared cipher': 'tls: server chose an unconfigured cipher suite',
  'unknown cipher returned': 'tls: server chose an unconfigured cipher suite',
  'wrong cipher returned': 'tls: server chose an unconfigured cipher suite',
});

/** Message of Go's client when an HTTPS port serves plain HTTP. */
export const plainAnswer = 'http: server gave HTTP response to HTTPS client';

/**
 * Returns why TLS failed, in Go's words. OpenSSL's messages contain addresses and file names, which differ between processes, so that
 * Events would not be aggregated.
 *
 * @param first first bytes from the server, as many as there are of its first record
 */
export function tlsFault(reason: Error, first: Buffer): string {
  const alert = /SSL alert number ([0-9]+)/.exec(reason.message)?.[1];
  if (alert !== undefined) return `remote error: tls: ${alerts[Number(alert)] ?? `alert(${alert})`}`;
  return recordFault(first) ?? ownFault(reason);
}

/** Length of the beginning of a record with a `ServerHello`, up to the version, bytes. */
const helloBytes = 11;
const tls12 = 0x0303;
const largestRecord = 16384 + 2048;

function recordFault(first: Buffer): string | undefined {
  if (first.length < 5) return undefined;
  if (first.toString('latin1', 0, 5) === 'HTTP/') return plainAnswer;
  const [type = 0, version, length] = [first[0], first.readUInt16BE(1), first.readUInt16BE(3)];
  if (type === 0x80) return 'tls: unsupported SSLv2 handshake received';
  if ((type !== 21 && type !== 22) || version >= 0x1000)
    return 'tls: first record does not look like a TLS handshake';
  if (length > largestRecord) return `tls: oversized record received with length ${length}`;
  return type === 22 ? helloFault(first) : undefined;
}

function helloFault(first: Buffer): string | undefined {
  if (first.length < helloBytes || first[5] !== 2) return undefined;
  const chosen = first.readUInt16BE(9);
  return chosen < tls12
    ? `tls: server selected unsupported protocol version ${chosen.toString(16)}`
    : undefined;
}

function ownFault(reason: Error): string {
  const { reason: short = 'handshake failed' } = reason as Error & { readonly reason?: string };
  return ownFaults[short] ?? `tls: ${short}`;
}
