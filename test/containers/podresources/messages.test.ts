import { expect, test } from 'vitest';
import {
  decodeGet,
  encodeAllocatable,
  encodeGet,
  encodeList,
} from '../../../src/containers/podresources/messages.ts';

const pod = { name: 'p', namespace: 'ns', containers: [{ name: 'a' }, { name: '' }] };

test('an answer lies on the wire as the proto says', () => {
  const inner = Buffer.concat([
    Buffer.from([10, 1]),
    Buffer.from('p'),
    Buffer.from([18, 2]),
    Buffer.from('ns'),
    Buffer.from([26, 3, 10, 1]),
    Buffer.from('a'),
    Buffer.from([26, 0]),
  ]);
  const wrapped = Buffer.concat([Buffer.from([10, inner.length]), inner]);
  expect(encodeGet(pod)).toEqual(wrapped);
  expect(encodeList([pod, pod])).toEqual(Buffer.concat([wrapped, wrapped]));
  expect(encodeList([])).toEqual(Buffer.alloc(0));
  expect(encodeAllocatable()).toEqual(Buffer.alloc(0));
});

test('a request is decoded without unknown fields', () => {
  const bytes = Buffer.concat([
    Buffer.from([10, 1]),
    Buffer.from('p'),
    Buffer.from([24, 200, 1]),
    Buffer.from([18, 2]),
    Buffer.from('ns'),
  ]);
  expect(decodeGet(bytes)).toEqual({ podName: 'p', podNamespace: 'ns' });
  expect(decodeGet(Buffer.alloc(0))).toEqual({ podName: '', podNamespace: '' });
  expect(() => decodeGet(Buffer.from([10, 5, 1]))).toThrow('protobuf message ends inside a field');
});
