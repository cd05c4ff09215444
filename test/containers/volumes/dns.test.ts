import { expect, test } from 'vitest';
import { parseResolvConf, podDns } from '../../../src/containers/volumes/dns.ts';

const node = { clusterDns: [], clusterDomain: '', nodeIPs: [] };

function optionsOf(text: string, options: { name: string; value?: string }[]): readonly string[] {
  const pod = { spec: { containers: [], dnsPolicy: 'Default', dnsConfig: { options } } };
  return podDns(pod, { ...node, resolvConf: { text } }).dns.options;
}

test('a pod’s option replaces the node’s of that name, and one without value loses its colon', () => {
  expect(optionsOf('options ndots:2 timeout: rotate', [{ name: 'ndots', value: '5' }])).toEqual([
    'ndots:5',
    'timeout',
    'rotate',
  ]);
});

test('a colon in the name of a pod’s option belongs to the name', () => {
  expect(optionsOf('options a:b', [{ name: 'a:b', value: '1' }])).toEqual(['a:b', 'a:b:1']);
});

test('white space of a resolv.conf is what Go takes for it', () => {
  expect(parseResolvConf('search\u0085a\u00a0b\u2003c').searches).toEqual(['a', 'b', 'c']);
  expect(parseResolvConf('\ufeffsearch a\nsearch b\ufeffc').searches).toEqual(['b\ufeffc']);
});

test('search domains are measured in bytes', () => {
  const search = `search ${'é'.repeat(126)} ${'é'.repeat(127)}`;
  const pod = { spec: { containers: [], dnsPolicy: 'Default' } };
  expect(podDns(pod, { ...node, resolvConf: { text: search } }).dns.searches).toEqual(['é'.repeat(126)]);
});
