import { expect, test } from 'vitest';
import { serviceAddresses } from '../../../../src/apiserver/registry/core/service-addresses.ts';
import { ServiceRange } from '../../../../src/apiserver/registry/core/service-range.ts';
import { Store } from '../../../../src/apiserver/storage/store.ts';

const random = { float: () => 0.5, uuid: () => '', hex: () => '' };

test('addresses come from the range until it is full', () => {
  const store = new Store();
  const addresses = serviceAddresses(store, random, ServiceRange.of('10.1.2.0/29'));
  expect(addresses.first).toBe('10.1.2.1');
  const got = [1, 2, 3, 4, 5].map((i) => {
    const clusterIP = addresses.allocate(`s${i}`);
    store.put('services', { metadata: { namespace: 'a', name: `s${i}` }, spec: { clusterIP } });
    return clusterIP;
  });
  expect(got.sort()).toEqual(['10.1.2.2', '10.1.2.3', '10.1.2.4', '10.1.2.5', '10.1.2.6']);
  expect(() => addresses.allocate('full')).toThrow('range is full');
  expect(() => addresses.allocate('other', '10.97.0.9')).toThrow('The range of valid IPs is 10.1.2.0/29');
  expect(() => addresses.allocate('taken', '10.1.2.3')).toThrow('provided IP is already allocated');
});
