import fc from 'fast-check';
import { expect, test } from 'vitest';
import { decode, encode } from '../../../src/providers/cri/codec.ts';
import { type MessageName, messages } from '../../../src/providers/cri/gen/messages.ts';

const scalars: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  bool: fc.constant(true),
  int32: fc.integer().filter((value) => value !== 0),
  uint32: fc.integer({ min: 1, max: 0xffff_ffff }),
  int64: fc.maxSafeInteger().filter((value) => value !== 0),
  uint64: fc.integer({ min: 1, max: Number.MAX_SAFE_INTEGER }),
  double: fc.double({ noNaN: true }).filter((value) => value !== 0),
  string: fc.string({ minLength: 1, unit: 'grapheme' }),
  bytes: fc.uint8Array({ minLength: 1 }),
};
const inList: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  ...scalars,
  int32: fc.integer(),
  int64: fc.maxSafeInteger(),
  string: fc.string({ unit: 'grapheme' }),
};

/** Messages as the wire can hold them: a zero value is an absent one. */
function messageOf(name: MessageName): fc.Arbitrary<object> {
  const fields = messages[name].map(([, field, kind]) => [field, valueOf(kind)] as const);
  return fc.record(Object.fromEntries(fields), { requiredKeys: [], noNullPrototype: true });
}

function valueOf(kind: string): fc.Arbitrary<unknown> {
  const plain = kind.replace('[]', '');
  if (plain === '{}')
    return fc.dictionary(fc.string(), fc.string(), { minKeys: 1, maxKeys: 3, noNullPrototype: true });
  if (plain !== kind)
    return fc.array(inList[plain] ?? messageOf(plain as MessageName), { minLength: 1, maxLength: 3 });
  return scalars[plain] ?? messageOf(plain as MessageName);
}

const all = Object.keys(messages) as MessageName[];

test.for(all)('%s comes back from the wire as it was', (name) => {
  const roundTrip = (message: object): void => {
    expect(decode(name, encode(name, message))).toEqual(message);
  };
  fc.assert(fc.property(messageOf(name), roundTrip), { numRuns: 20 });
});

test('bytes that are no message give a clear error or a message, never anything else', () => {
  const attempt = (bytes: Uint8Array): void => {
    try {
      decode('ListContainersResponse', bytes);
    } catch (reason) {
      expect(reason).toMatchObject({ name: 'AgentError', code: 'internal' });
    }
  };
  fc.assert(fc.property(fc.uint8Array({ maxLength: 200 }), attempt), { numRuns: 2000 });
});

test.for<[string, MessageName, object, string]>([
  ['zero values stay off the wire', 'Mount', { containerPath: '', readonly: false, propagation: 0 }, ''],
  [
    'an absent message differs from an empty one',
    'LinuxSandboxSecurityContext',
    { runAsUser: { value: 0 } },
    '1a00',
  ],
  ['numbers in a list lie packed', 'PortForwardRequest', { port: [1, 300, 0] }, '12040' + '1ac0200'],
  ['texts in a list keep empty ones', 'DNSConfig', { servers: ['', 'a'] }, '0a000a0161'],
  ['a negative number takes ten bytes', 'Int64Value', { value: -1 }, '08ffffffffffffffffff01'],
  ['an instant in ns', 'Int64Value', { value: 1_700_000_000_000_000_000 }, '088080a8b1e39fe7cb17'],
  ['an entry of a map', 'ImageSpec', { annotations: { a: '' } }, '12050a01611200'],
])('%s', ([, name, message, hex]) => {
  expect(encode(name, message).toString('hex')).toBe(hex);
});

test('fields of a newer runtime are stepped over', () => {
  const known = encode('VersionResponse', { runtimeName: 'containerd' });
  // fields 30 to 33, one of each wire type
  const unknown = Buffer.from('f00101f9010000000000000000820203616263' + '8d0200000000', 'hex');
  expect(decode('VersionResponse', Buffer.concat([unknown, known]))).toEqual({ runtimeName: 'containerd' });
});

test('a label named __proto__ is a label', () => {
  const labels = JSON.parse('{"__proto__":"x"}') as Record<string, string>;
  const { labels: read } = decode('Container', encode('Container', { labels })) as { labels: object };
  expect(Object.entries(read)).toEqual([['__proto__', 'x']]);
});

test('numbers in a list are read unpacked, too', () => {
  expect(decode('PortForwardRequest', Buffer.from('100110ac02', 'hex'))).toEqual({ port: [1, 300] });
});
