import { once } from 'node:events';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { EmbeddedApiServer } from '../../src/apiserver/index.ts';
import { call } from './support.ts';

const path = '/api/v1/namespaces/default/configmaps';
let server: EmbeddedApiServer;
beforeAll(async () => {
  server = await EmbeddedApiServer.start({ controllers: false });
  await call(server, 'POST', path, { metadata: { name: 'one' } });
});
afterAll(() => server.stop());

interface Ask {
  readonly query?: string;
  readonly protocols?: string[];
  readonly origin?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
}

const socketOf = ({ query = '', protocols = [], origin, headers }: Ask): WebSocket =>
  new WebSocket(`wss://127.0.0.1:${server.port}${path}?watch=true${query}`, protocols, {
    ca: server.ca,
    cert: server.admin.cert,
    key: server.admin.key,
    headers: { ...headers, ...(origin !== undefined && { Origin: origin }) },
  });

/** Every message until the server closes, and the code it closes with. */
async function messages(ask: Ask): Promise<{ code: number; protocol: string; all: (string | Buffer)[] }> {
  const socket = socketOf({ origin: 'https://ui.example.com', ...ask });
  const all: (string | Buffer)[] = [];
  socket.on('message', (data: Buffer, isBinary) => all.push(isBinary ? data : data.toString()));
  const [code] = (await once(socket, 'close')) as [number];
  return { code, protocol: socket.protocol, all };
}

test.for([{ protocols: [] }, { protocols: ['base64.binary.k8s.io'] }])(
  'a watch over a WebSocket has a message for each event: %j',
  async ({ protocols }) => {
    const { code, protocol, all } = await messages({ query: '&timeoutSeconds=1', protocols });
    expect(code).toBe(1000);
    expect(protocol).toBe(protocols[0] ?? '');
    expect(all.map((text) => JSON.parse(String(text)) as object)).toMatchObject([
      { type: 'ADDED', object: { kind: 'ConfigMap', metadata: { name: 'one' } } },
    ]);
  },
);

test('a token among the subprotocols is not repeated', async () => {
  const protocols = ['base64url.bearer.authorization.k8s.io.eA', 'base64.binary.k8s.io'];
  expect(await messages({ query: '&timeoutSeconds=1', protocols })).toMatchObject({ protocol: protocols[1] });
});

test('in protobuf a message is one event without its length', async () => {
  const headers = { Accept: 'application/vnd.kubernetes.protobuf;stream=watch' };
  const { all } = await messages({ query: '&timeoutSeconds=1', headers });
  expect(all).toHaveLength(1);
  // Field 1, of 5 bytes: the type of the event.
  expect((all[0] as Buffer).subarray(0, 7).toString('latin1')).toBe('\n\u0005ADDED');
});

test('changes are sent while the WebSocket is open, and a stopping server closes it', async () => {
  const own = await EmbeddedApiServer.start({ controllers: false });
  const socket = new WebSocket(`wss://127.0.0.1:${own.port}${path}?watch=true&resourceVersion=0`, {
    ca: own.ca,
    cert: own.admin.cert,
    key: own.admin.key,
    headers: { Origin: 'https://ui.example.com' },
  });
  await once(socket, 'open');
  const told = once(socket, 'message');
  await call(own, 'POST', path, { metadata: { name: 'two' } });
  const [data] = (await told) as [Buffer];
  expect(JSON.parse(data.toString())).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'two' } } });
  const gone = once(socket, 'close');
  await own.stop();
  await gone;
});

test.for([
  [{ protocols: ['a', 'b'] }, 400],
  [{ origin: undefined }, 403],
  [{ headers: { Accept: 'application/yaml' } }, 406],
] as const)('a watch over a WebSocket with %j is refused with %i', async ([ask, status]) => {
  const socket = socketOf({ origin: 'https://ui.example.com', ...(ask as Ask) });
  socket.on('error', () => undefined);
  const [, answer] = (await once(socket, 'unexpected-response')) as [unknown, { statusCode: number }];
  expect(answer.statusCode).toBe(status);
  socket.terminate();
});
