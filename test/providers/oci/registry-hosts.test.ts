import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { endpointsIn, registryItself } from '../../../src/providers/oci/registry-hosts.ts';

let dir: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), 'podtender-hosts-'));
});
afterEach(() => {
  rmSync(dir, { recursive: true, force: true });
});

function write(host: string, text: string): void {
  mkdirSync(join(dir, host), { recursive: true });
  writeFileSync(join(dir, host, 'hosts.toml'), text);
}

test('a registry without a file is asked itself: over TLS, on this machine without', () => {
  const base = (registry: string): string | undefined => registryItself(registry)[0]?.base;
  expect(endpointsIn(dir)('r.example')).toEqual(registryItself('r.example'));
  expect(base('r.example:5000')).toBe('https://r.example:5000/v2');
  expect(base('docker.io')).toBe('https://registry-1.docker.io/v2');
  expect(base('localhost:5000')).toBe('http://localhost:5000/v2');
  expect(base('[::1]:5000')).toBe('http://[::1]:5000/v2');
});

test('mirrors come in the order of the file, then the server', () => {
  writeFileSync(join(dir, 'ca.pem'), 'CA');
  writeFileSync(join(dir, 'client.pem'), 'CERT');
  writeFileSync(join(dir, 'client.key'), 'KEY');
  write(
    'r.example',
    `
server = "https://origin.example"
[host."https://one.example/v2/r.example"]
override_path = true
capabilities = ["pull"]
ca = "../ca.pem"
client = [["../client.pem", "../client.key"]]
[host."http://two.example:5000"]
skip_verify = true
[host."http://two.example:5000".header]
Authorization = "Bearer own"
x-list = ["a", "b"]
`,
  );
  expect(endpointsIn(dir)('r.example')).toEqual([
    {
      base: 'https://one.example/v2/r.example',
      capabilities: new Set(['pull']),
      headers: {},
      tls: { ca: ['CA'], cert: 'CERT', key: 'KEY' },
      mirrorOf: 'r.example',
    },
    {
      base: 'http://two.example:5000/v2',
      capabilities: new Set(['resolve', 'pull']),
      headers: { authorization: 'Bearer own', 'x-list': 'a, b' },
      tls: { skipVerify: true },
      mirrorOf: 'r.example',
    },
    { base: 'https://origin.example/v2', capabilities: new Set(['resolve', 'pull']), headers: {}, tls: {} },
  ]);
});

test('_default is for registries without a file of their own, and a port may be written between underscores', () => {
  write('_default', '[host."https://all.example"]');
  write('r.example_5000_', '[host."https://own.example"]');
  const first = (registry: string): string | undefined => endpointsIn(dir)(registry)[0]?.base;
  expect(first('other.example')).toBe('https://all.example/v2');
  expect(first('r.example:5000')).toBe('https://own.example/v2');
});

test.each([
  ['server = 1', 'server is not a string'],
  ['server = "ftp://x"', 'server is not the http:// or https:// URL of a registry'],
  ['host = 1', 'host is not a table'],
  [
    '[host."https://m"]\ncapabilities = ["all"]',
    'host."https://m".capabilities is not a list of pull, resolve, push, referrers',
  ],
  ['[host."https://m"]\nskip_verify = "yes"', 'host."https://m".skip_verify is not true or false'],
  ['[host."https://m"]\nca = "none.pem"', 'host."https://m".ca open '],
  ['[host."https://m"]\nclient = 1', 'host."https://m".client is neither'],
  ['[host."https://m".header]\na = 1', 'host."https://m".header.a is neither'],
  ['server = ', 'line 1: '],
])('%j is refused with file and place', (text, message) => {
  write('r.example', text);
  expect(() => endpointsIn(dir)('r.example')).toThrow(`${join(dir, 'r.example', 'hosts.toml')}: ${message}`);
});
