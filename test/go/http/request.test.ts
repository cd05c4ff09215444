import { expect, test } from 'vitest';
import { headOf, requestBytes, requestFault } from '../../../src/go/http/request.ts';
import { asked, outcomeOf, requestOf } from './support.ts';

const headers = (...pairs: readonly (readonly [string, string])[]) => ({
  httpHeaders: pairs.map(([name, value]) => ({ name, value })),
});
const sent = (action: Parameters<typeof requestOf>[1]): string =>
  requestBytes(headOf(requestOf(80, action), [['Connection', 'close']])).toString();
const head = 'GET /p HTTP/1.1\r\nHost: 127.0.0.1:80\r\nUser-Agent: kube-probe/1.36\r\n';

test('a request has the fields that Go sends, in its order', () => {
  expect(sent({})).toBe(`${head}Accept: */*\r\nConnection: close\r\n\r\n`);
  expect(sent(headers(['x-b', '1'], ['X-A', ' 2\t'], ['X-B', '3'], ['accept', '']))).toBe(
    `${head}X-A: 2\r\nX-B: 1\r\nX-B: 3\r\nConnection: close\r\n\r\n`,
  );
  expect(sent(headers(['User-Agent', ''], ['Content-Length', '5']))).not.toMatch(/User-Agent|Content-Length/);
  expect(sent(headers(['Connection', 'Upgrade'], ['Upgrade', 'x']))).not.toContain('close');
});

test.for([
  ['café', 'café'],
  ['健康', '健康'],
  ['a\tb ', 'a\tb'],
])('the value %j is sent as UTF-8', async ([value, arrives]) => {
  let request = '';
  const port = await asked((socket, bytes) => {
    request = bytes.toString();
    socket.end('HTTP/1.1 200 OK\r\n\r\n');
  });
  expect(await outcomeOf(requestOf(port, headers(['X-Name', value ?? ''])))).toBe('200 ');
  expect(request).toContain(`\r\nX-Name: ${arrives}\r\n`);
});

test.for([
  ['/x?q=ü', '/x?q=ü'],
  ['/x?y=a b', '/x?y=a b'],
  ['/ü b', '/%C3%BC%20b'],
  ['?x', '/?x'],
  ['/a#b', '/a'],
] as const)('the path %j is asked for as %j', ([path, target]) => {
  expect(sent({ path })).toMatch(`GET ${target} HTTP/1.1\r\n`);
});

test.for([
  ['bücher.Example:8080', 'xn--bcher-kva.Example:8080'],
  ['Ünï', 'xn--n-jfa2d'],
  ['他们为什么不说中文', 'xn--ihqwcrb4cv8a8dqg056pqjye'],
  ['[fe80::1%eth0]:80', '[fe80::1]:80'],
  ['a b', ''],
  ['a/b', ''],
] as const)('the Host %j is sent as %j', ([value, host]) => {
  expect(sent(headers(['Host', value]))).toMatch(`Host: ${host}\r\n`);
});

test.for([
  [headers(['X-Name', 'token\n']), 'net/http: invalid header field value for "X-Name"'],
  [headers(['x-name', 'a\u0000b']), 'net/http: invalid header field value for "X-Name"'],
  [headers(['a b', 'c']), 'net/http: invalid header field name "a b"'],
  [headers(['', 'c']), 'net/http: invalid header field name ""'],
  [{ path: 'a:b' }, 'http: no Host in request URL'],
  [{ scheme: 'ftp' }, 'unsupported protocol scheme "ftp"'],
] as const)('what Go refuses is refused in its words, %#: %s', ([action, fault]) => {
  expect(requestFault(requestOf(80, action))).toBe(fault);
});
