import { expect, test } from 'vitest';
import { proxyFor, proxyUrl } from '../../src/base/proxy.ts';

const through = (target: string, env: Readonly<Record<string, string>>): string | undefined =>
  proxyFor(new URL(target), env);
const proxy = 'http://proxy:3128';

test('the scheme of the target names the variable, upper case goes first', () => {
  const env = { HTTPS_PROXY: 'https://a:1', https_proxy: 'b:2', http_proxy: 'c:3' };
  expect(through('https://x', env)).toBe('https://a:1');
  expect(through('http://x', env)).toBe('http://c:3');
  expect(through('https://x', { HTTPS_PROXY: '', https_proxy: 'socks5://b:2' })).toBe('socks5://b:2');
  expect(through('https://x', {})).toBeUndefined();
});

test.each([
  ['https://localhost:6443', ''],
  ['https://127.0.0.1:6443', ''],
  ['https://127.3.2.1', ''],
  ['https://[::1]:6443', ''],
  ['https://api.example.com', '*'],
  ['https://api.example.com', 'other, example.com'],
  ['https://example.com', 'EXAMPLE.com'],
  ['https://api.example.com', '.example.com'],
  ['https://api.example.com', '*.example.com'],
  ['https://api.example.com:6443', 'example.com:6443'],
  ['https://api.example.com', 'example.com:443'],
  ['https://10.96.0.1', '10.0.0.0/8'],
  ['https://10.96.0.1', '10.96.0.1'],
  ['https://10.96.0.1', '10.96.0.1:443'],
  ['https://[fd00::1]', 'fd00::/8'],
  ['https://[fd00::1]', 'fd00::1'],
  ['https://[fd00::1]:6443', '[fd00::1]:6443'],
] as const)('%s needs no proxy with NO_PROXY=%s', (target, NO_PROXY) => {
  expect(through(target, { HTTPS_PROXY: proxy, NO_PROXY })).toBeUndefined();
});

test.each([
  ['https://api.example.com', ''],
  ['https://api.example.com', 'ample.com, com.example'],
  ['https://example.com', '.example.com'],
  ['https://example.com', '*.example.com'],
  ['https://api.example.com', 'example.com:6443'],
  ['https://11.96.0.1', '10.0.0.0/8,::/0'],
  ['https://10.96.0.1:6443', '10.96.0.1:443'],
  ['https://10.96.0.1', '0.1, 10.0.0.0/99, :443'],
  ['https://[fd00::2]', 'fd00::1'],
] as const)('%s goes through the proxy with NO_PROXY=%s', (target, NO_PROXY) => {
  expect(through(target, { HTTPS_PROXY: proxy, NO_PROXY })).toBe(proxy);
});

test.each(['ftp://a:1', 'http://', '::'])('%s is no proxy, and what it holds is not told', (text) => {
  expect(() => proxyUrl(text, 'HTTPS_PROXY')).toThrow(/^HTTPS_PROXY is not a proxy URL: it should be/);
});
