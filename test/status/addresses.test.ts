import { expect, test } from 'vitest';
import { type AddressInput, hostIpsOf, podAddresses } from '../../src/status/addresses.ts';
import { onePerFamily, primaryFamilyOf } from '../../src/kube/address-family.ts';

const [host4, host6, pod4, pod6] = ['192.0.2.1', '2001:db8::1', '10.0.0.7', 'fd00::7'];
const node: AddressInput = { podIps: [], hostIps: [host4], primaryFamily: 'IPv4', hostNetwork: false };

test.for<
  [says: string, input: Partial<AddressInput>, pods: string[] | undefined, hosts: string[] | undefined]
>([
  ['nothing is known', { hostIps: [] }, undefined, undefined],
  ['a pod without addresses', {}, undefined, [host4]],
  ['one address', { podIps: [pod4] }, [pod4], [host4]],
  ['the primary family first', { podIps: [pod6, pod4] }, [pod4, pod6], [host4]],
  ['IPv6 first on an IPv6 node', { podIps: [pod4, pod6], primaryFamily: 'IPv6' }, [pod6, pod4], [host4]],
  ['one address of each family', { podIps: [pod4, '10.0.0.8', pod6] }, [pod4, pod6], [host4]],
  ['what is no address', { podIps: ['nowhere', pod4] }, [pod4], [host4]],
  ['a third address of the node', { hostIps: [host4, host6, '192.0.2.2'] }, undefined, [host4, host6]],
  ['the host’s network', { hostNetwork: true }, [host4], [host4]],
  [
    'the host’s network of a node without addresses',
    { hostNetwork: true, hostIps: [] },
    undefined,
    undefined,
  ],
  [
    'the host’s network, the node not known, the pod known',
    { hostNetwork: true, hostIps: [], podIps: [pod4] },
    [pod4],
    undefined,
  ],
  [
    'the host’s network in two families',
    { hostNetwork: true, hostIps: [host4, host6] },
    [host4, host6],
    [host4, host6],
  ],
  [
    'only a missing family is added',
    { hostNetwork: true, hostIps: [host4, host6], podIps: [pod6] },
    [pod6],
    [host4, host6],
  ],
  [
    'the family is added to the address it has',
    { hostNetwork: true, hostIps: [host4, host6], podIps: [pod4] },
    [pod4, host6],
    [host4, host6],
  ],
  [
    'two families already',
    { hostNetwork: true, hostIps: [host4, host6], podIps: [pod4, pod6] },
    [pod4, pod6],
    [host4, host6],
  ],
  [
    'texts that runtimes need not write',
    { podIps: ['fe80::1%eth0', '::ffff:10.0.0.9', '010.0.0.1', 'fd00:0::9'] },
    ['10.0.0.9', 'fd00::9'],
    [host4],
  ],
])('addresses: %s (R227)', ([, input, pods, hosts]) => {
  const list = (ips: readonly string[] | undefined) => ips?.map((ip) => ({ ip }));
  expect(podAddresses({ ...node, ...input })).toEqual({
    ...(hosts && { hostIP: hosts[0], hostIPs: list(hosts) }),
    ...(pods && { podIP: pods[0], podIPs: list(pods) }),
  });
});

test.for<[string[], string[]]>([
  [[], []],
  [[host4], [host4]],
  [[host4, '192.0.2.2'], [host4]],
  [
    [host4, '192.0.2.2', host6],
    [host4, host6],
  ],
  [
    [host6, host4],
    [host6, host4],
  ],
])('of the node’s addresses %j pods are told %j', ([all, told]) => {
  expect(hostIpsOf(all)).toEqual(told);
});

test.for<[string[], string[], string]>([
  [['fd00:0:0::1', '10.1.1.1', '10.1.1.2'], ['192.168.0.5', 'fd00::5'], '10.1.1.1,fd00::1'],
  [['10.1.1.1', 'fd00:0:0::1'], ['fd00::5'], 'fd00::1,10.1.1.1'],
  [['fd00::1'], [], 'fd00::1'],
])('of %j a pod of the node %j has %s', ([podIps, nodeIPs, seen]) => {
  expect(onePerFamily(podIps, primaryFamilyOf(nodeIPs)).join(',')).toBe(seen);
});
