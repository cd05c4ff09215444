import { connect, createServer, type TLSSocket } from 'node:tls';
import type { AddressInfo } from 'node:net';
import type { Bindings } from './bindings.ts';
import { differ } from './compare.ts';
import type { Found } from './kubelet-answers.ts';

/** One raw request to a kubelet and how it was answered. */
export interface Upstream {
  readonly method: string;
  readonly path: string;
  readonly version: string;
  readonly headers: Readonly<Record<string, readonly string[]>>;
  readonly clientCert: Readonly<Record<string, string>> | null;
  readonly res: { readonly status: number; readonly headers: Readonly<Record<string, readonly string[]>> };
}

interface Certificate {
  readonly cert: string;
  readonly key: string;
}

export interface TapOptions {
  readonly host: string;
  /** Where the real kubelet listens, on loopback. */
  readonly kubeletPort: number;
  readonly serving: Certificate;
  /** As whom the kubelet is asked, whoever asks the tap. */
  readonly client: Certificate;
}

export interface Tap {
  readonly port: number;
  /** What was asked since the last call. */
  taken(): readonly Upstream[];
  close(): Promise<void>;
}

const headEnd = '\r\n\r\n';

/** A TLS tap in front of a kubelet, as the recorder's: notes each request and rewrites namespace `kp` to `kapi`. */
export async function startTap(options: TapOptions): Promise<Tap> {
  const noted: Upstream[] = [];
  const sockets = new Set<TLSSocket>();
  const server = createServer(
    { ...options.serving, requestCert: true, rejectUnauthorized: false },
    (near) => {
      sockets.add(near);
      near.on('error', () => undefined);
      near.once('close', () => sockets.delete(near));
      passOn(near, options, noted);
    },
  );
  await new Promise<void>((resolve) => server.listen(0, options.host, resolve));
  return {
    port: (server.address() as AddressInfo).port,
    taken: () => noted.splice(0),
    close: () =>
      new Promise((resolve) => {
        for (const one of sockets) one.destroy();
        server.close(() => {
          resolve();
        });
      }),
  };
}

/** The subject of a certificate; `null` when none was shown. */
function subjectOf(socket: TLSSocket): Upstream['clientCert'] {
  const certificate = socket.getPeerCertificate() as { subject?: { O?: string; CN?: string } } | null;
  const subject = certificate?.subject;
  return subject ? { organizationName: subject.O ?? '', commonName: subject.CN ?? '' } : null;
}

function passOn(near: TLSSocket, { kubeletPort, client }: TapOptions, noted: Upstream[]): void {
  const clientCert = subjectOf(near);
  const far = connect({
    host: '127.0.0.1',
    port: kubeletPort,
    rejectUnauthorized: false,
    ...client,
  });
  far.on('error', () => near.destroy());
  near.once('close', () => far.destroy());
  far.once('close', () => near.end());
  const request = firstHead(near, (head) => {
    far.write(head.replace(/^(\S+ \/\w+\/)kp\//, '$1kapi/'), 'latin1');
  });
  const answer = firstHead(far, (head) => {
    const [line, headers] = headOf(request.head);
    const [method = '', path = '', version = ''] = line.split(' ');
    const [statusLine, answered] = headOf(head);
    const res = { status: Number(statusLine.split(' ')[1]), headers: answered };
    noted.push({ method, path, version, headers, clientCert, res });
    near.write(head, 'latin1');
  });
  request.then = (chunk) => far.write(chunk);
  answer.then = (chunk) => near.write(chunk);
}

interface Heads {
  head: string;
  then: (chunk: Buffer) => void;
}

/** Calls `done` with the first message's head, and hands on what follows it. */
function firstHead(socket: TLSSocket, done: (head: string) => void): Heads {
  const state: Heads = { head: '', then: () => undefined };
  let text = '';
  socket.on('data', (chunk: Buffer) => {
    if (state.head !== '') {
      state.then(chunk);
      return;
    }
    text += chunk.toString('latin1');
    const end = text.indexOf(headEnd);
    if (end < 0) return;
    state.head = text.slice(0, end + headEnd.length);
    done(state.head);
    const rest = text.slice(state.head.length);
    if (rest !== '') state.then(Buffer.from(rest, 'latin1'));
  });
  return state;
}

function headOf(head: string): readonly [line: string, headers: Record<string, string[]>] {
  const [line = '', ...lines] = head.trimEnd().split('\r\n');
  const headers: Record<string, string[]> = {};
  for (const one of lines) {
    const cut = one.indexOf(':');
    (headers[one.slice(0, cut).toLowerCase()] ??= []).push(one.slice(cut + 1).trim());
  }
  return [line, headers];
}

/**
 * Names of programs and what each HTTP library adds by itself; `Connection` only says anything where it asks for an upgrade. The
 * handshake's key is not recorded.
 */
const ignored = new Set(['user-agent', 'accept-encoding', 'content-length', 'sec-websocket-accept', 'date']);

function comparable(headers: Upstream['headers'], sent: boolean): Record<string, readonly string[]> {
  const lower = Object.entries(headers).map(([name, values]) => [name.toLowerCase(), values] as const);
  return Object.fromEntries(
    lower.filter(([name, values]) => {
      if (ignored.has(name)) return false;
      if (name === 'connection') return sent && values[0] === 'Upgrade';
      return sent
        ? name !== 'transfer-encoding'
        : name.startsWith('x-stream') || name === 'sec-websocket-protocol';
    }),
  );
}

/**
 * Where what went to the kubelet is not what was recorded; of the server's certificate the name, as groups are the cluster's affair.
 * The kubelet's own answers are played in `kubelet-http`: here their status is compared.
 */
export function differentUpstream(
  recorded: readonly Upstream[],
  actual: readonly Upstream[],
  bindings: Bindings,
): Found[] {
  const shaped = ({ method, path, version, headers, clientCert, res }: Upstream): unknown => ({
    ...{ method, path, version, client: clientCert?.['commonName'] },
    headers: comparable(headers, true),
    res: { status: res.status, headers: comparable(res.headers, false) },
  });
  return differ(recorded.map(shaped), actual.map(shaped), bindings).map((one) => ({
    what: 'upstream',
    ...one,
  }));
}
