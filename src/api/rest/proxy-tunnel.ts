import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { buildConnector } from 'undici';
import makeConnector from 'undici/lib/core/connect.js';
import { machineAuthorities } from '../../pki/authorities.ts';
import { addressPatienceMs, type HostPort, hostPortOf, joinHostPort } from '../../base/host-port.ts';
import { messageOf } from '../../base/errors.ts';

/** Options of connections through a proxy. */
export interface TunnelOptions {
  /** `http:`, `https:`, `socks5:` or `socks5h:` */
  readonly proxy: URL;
  /** Timeout for the proxy, and again for the handshake with the server behind it, ms. */
  readonly timeout: number;
  /** PEM of authorities for the certificate of an `https:` proxy, in addition to those that the machine trusts. */
  readonly proxyCa?: string | Buffer;
  /** Options for the server behind the proxy. */
  readonly connect: buildConnector.BuildOptions;
}

/** Returns a connector for undici that connects through a proxy with `CONNECT` or SOCKS 5; the proxy does not see the content. */
export function tunnelConnector({
  proxy,
  proxyCa,
  timeout,
  connect: options,
}: TunnelOptions): buildConnector.connector {
  const secure = makeConnector({ ...options, timeout });
  const connect = async (
    target: buildConnector.Options,
    callback: buildConnector.Callback,
  ): Promise<void> => {
    const through = proxy.protocol.startsWith('socks5') ? throughSocks : throughHttp;
    let socket: Socket;
    try {
      socket = await through(hostPortOf(target), { proxy, proxyCa, timeoutMs: timeout });
    } catch (reason) {
      callback(new Error(`proxy ${proxy.host}: ${messageOf(reason)}`, { cause: reason }), null);
      return;
    }
    if (target.protocol === 'https:') secure({ ...target, httpSocket: socket }, callback);
    else callback(null, socket.setNoDelay(true));
  };
  return (target, callback) => void connect(target, callback);
}

interface Way {
  readonly proxy: URL;
  readonly proxyCa: string | Buffer | undefined;
  readonly timeoutMs: number;
}

function throughHttp({ host, port }: HostPort, { proxy, proxyCa, timeoutMs }: Way): Promise<Socket> {
  const path = joinHostPort(host, port);
  const user = credentialsOf(proxy);
  const options = {
    method: 'CONNECT',
    ...hostPortOf(proxy),
    path,
    headers: {
      host: path,
      ...(user && { 'proxy-authorization': `Basic ${Buffer.from(user.join(':')).toString('base64')}` }),
    },
    agent: false,
    autoSelectFamilyAttemptTimeout: addressPatienceMs,
  };
  return new Promise((resolve, reject) => {
    const connectRequest =
      proxy.protocol === 'https:'
        ? httpsRequest({
            ...options,
            ca: [...machineAuthorities(), ...(proxyCa === undefined ? [] : [proxyCa])],
          })
        : httpRequest(options);
    const patience = AbortSignal.timeout(timeoutMs); // for the whole exchange: a proxy may answer byte by byte
    const late = (): void => {
      connectRequest.destroy(new Error(`no answer within ${timeoutMs} ms`));
    };
    patience.addEventListener('abort', late, { once: true });
    connectRequest
      .once('close', () => {
        patience.removeEventListener('abort', late);
        reject(new Error(`CONNECT ${path}: the connection was closed without an answer`));
      })
      .on('connect', ({ statusCode, statusMessage }, socket) => {
        patience.removeEventListener('abort', late);
        if (statusCode === 200) {
          resolve(socket);
          return;
        }
        socket.destroy();
        reject(new Error(`CONNECT ${path}: ${statusCode} ${statusMessage}`));
      })
      .on('response', (answer) => {
        answer.destroy();
        reject(new Error(`CONNECT ${path}: ${answer.statusCode} ${answer.statusMessage}`));
      })
      .on('error', reject)
      .end();
  });
}

async function throughSocks(destination: HostPort, { proxy, timeoutMs }: Way): Promise<Socket> {
  const { SocksClient } = await import('socks');
  const [userId, password] = credentialsOf(proxy) ?? [];
  const { socket } = await SocksClient.createConnection({
    command: 'connect',
    destination,
    proxy: {
      ...hostPortOf(proxy, 1080),
      type: 5,
      ...(userId !== undefined && { userId }),
      ...(password !== undefined && { password }),
    },
    timeout: timeoutMs,
  });
  return socket;
}

const credentialsOf = ({ username, password }: URL): readonly [string, string] | undefined =>
  username === '' ? undefined : [decodeURIComponent(username), decodeURIComponent(password)];
