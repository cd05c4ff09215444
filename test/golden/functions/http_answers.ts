import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { systemClock } from '../../../src/base/clock.ts';
import { messageOf } from '../../../src/base/errors.ts';
import { httpProbe } from '../../../src/prober/http-probe.ts';
import { check, type Replay } from '../harness.ts';

interface Input {
  /** Base64. */
  readonly raw: string;
  readonly end: 'close' | 'rst' | 'open';
}

/** The prober's own timeout in the recordings. */
const timeoutMs = 800;
const closeAfterMs = 50;
const resetAfterMs = 150;
/** Longer texts are recorded by their beginning and their length, bytes. */
const [longestText, shownBytes] = [300, 200];

function answerWith({ raw, end }: Input): (socket: Socket) => void {
  const bytes = Buffer.from(raw, 'base64');
  return (socket) => {
    socket.on('error', () => undefined);
    socket.once('data', () => {
      socket.write(bytes);
      if (end === 'close') {
        socket.end();
        setTimeout(() => socket.destroy(), closeAfterMs);
      }
      if (end === 'rst') setTimeout(() => socket.resetAndDestroy(), resetAfterMs);
    });
  };
}

/** What the prober says, with the addresses that differ from run to run replaced. */
async function probe(port: number): Promise<Readonly<Record<string, unknown>>> {
  const shown = (text: string): string => clipped(masked(text, port));
  try {
    const { outcome, output } = await httpProbe(systemClock)({
      target: {
        type: 'readiness',
        pod: { metadata: { name: 'p', namespace: 'ns', uid: 'u' }, spec: { containers: [{ name: 'c' }] } },
        container: { name: 'c' },
        probe: { httpGet: { port, path: '/p' } },
      },
      podIp: '127.0.0.1',
      containerId: 't://1',
      timeoutMs,
    });
    return { result: outcome, ...(output !== '' && { output: shown(output) }) };
  } catch (reason) {
    return { result: 'failure', error: shown(messageOf(reason)) };
  }
}

const masked = (text: string, port: number): string =>
  text
    .replace(/read tcp 127\.0\.0\.1:[0-9]+->/g, 'read tcp CLIENT->')
    .replaceAll(`127.0.0.1:${port}`, '127.0.0.1:PORT');

function clipped(text: string): string {
  const bytes = Buffer.from(text);
  return bytes.length > longestText
    ? `${bytes.toString('utf8', 0, shownBytes)}… (${bytes.length} bytes)`
    : text;
}

export const replay: Replay = async (line) => {
  const input = line['in'] as Input;
  const sockets = new Set<Socket>();
  const answer = answerWith(input);
  const server = createServer({ allowHalfOpen: true }, (socket) => {
    sockets.add(socket);
    answer(socket);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  try {
    const said = await probe((server.address() as AddressInfo).port);
    const requests = sockets.size > 1 ? { requests: sockets.size } : {};
    return check(line['out'], { ...said, ...requests }, { operation: input });
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
};
