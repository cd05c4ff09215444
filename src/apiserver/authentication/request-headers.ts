import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { TLSSocket } from 'node:tls';
import { ownMember, setOwn } from '../../base/own.ts';
import { connectionOf } from '../../streams/http2-messages.ts';
import type { User } from './users.ts';

/** Which front proxies are trusted, and the headers that name the user, as kube-apiserver's flags `--requestheader-*` configure them. */
export interface RequestHeaderOptions {
  /** Authorities of the proxies' client certificates, PEM. */
  readonly authorities: string;
  /** Common names of the certificates that are accepted; none: any that the authorities have signed. */
  readonly allowedNames?: readonly string[];
  /** Default: `X-Remote-User`. */
  readonly usernameHeaders?: readonly string[];
  /** Default: `X-Remote-Uid`. */
  readonly uidHeaders?: readonly string[];
  /** Default: `X-Remote-Group`. */
  readonly groupHeaders?: readonly string[];
  /** Default: `X-Remote-Extra-`. */
  readonly extraHeaderPrefixes?: readonly string[];
}

/** Returns the certificates of a PEM text. @throws {Error} when it has none, or one cannot be parsed */
export function certificatesOf(pem: string): readonly X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]*?-----END CERTIFICATE-----/g) ?? [];
  if (blocks.length === 0) throw new Error('no PEM certificate in it');
  return blocks.map((block) => new X509Certificate(block));
}

/** RequestHeaders identifies users by the headers of an authenticating front proxy, whose client certificate proves them. */
export class RequestHeaders {
  readonly #authorities: readonly X509Certificate[];
  readonly #options: RequestHeaderOptions;
  /** Whether the certificate of a connection is that of a proxy. */
  readonly #trusted = new WeakMap<object, boolean>();

  /** @throws {Error} for authorities that cannot be parsed */
  constructor(options: RequestHeaderOptions) {
    this.#authorities = certificatesOf(options.authorities);
    this.#options = options;
  }

  /** Returns the user that a trusted proxy names; `undefined` for other connections, and without such a header. */
  user(request: IncomingMessage): User | undefined {
    const { usernameHeaders = ['X-Remote-User'], groupHeaders = ['X-Remote-Group'] } = this.#options;
    const { uidHeaders = ['X-Remote-Uid'] } = this.#options;
    const [name] = valuesOf(request, usernameHeaders);
    if (name === undefined || name === '' || !this.#isTrusted(request)) return undefined;
    const [uid] = valuesOf(request, uidHeaders);
    const extra = this.#extra(request);
    return {
      name,
      groups: valuesOf(request, groupHeaders),
      ...(uid !== undefined && uid !== '' && { uid }),
      ...(Object.keys(extra).length > 0 && { extra }),
    };
  }

  #extra({ headersDistinct }: IncomingMessage): Record<string, readonly string[]> {
    const { extraHeaderPrefixes = ['X-Remote-Extra-'] } = this.#options;
    const extra: Record<string, readonly string[]> = {};
    for (const [header, values = []] of Object.entries(headersDistinct))
      for (const prefix of extraHeaderPrefixes)
        if (header.startsWith(prefix.toLowerCase()))
          setOwn(extra, decoded(header.slice(prefix.length)), values);
    return extra;
  }

  #isTrusted(request: IncomingMessage): boolean {
    const connection = connectionOf(request);
    let trusted = this.#trusted.get(connection);
    if (trusted === undefined) {
      trusted = this.#verify(request.socket as TLSSocket);
      this.#trusted.set(connection, trusted);
    }
    return trusted;
  }

  #verify(socket: TLSSocket): boolean {
    if (!socket.authorized) return false;
    const certificate = socket.getPeerX509Certificate();
    if (!certificate) return false;
    const signed = this.#authorities.some(
      (authority) => certificate.checkIssued(authority) && certificate.verify(authority.publicKey),
    );
    const { allowedNames = [] } = this.#options;
    const name = /^CN=(.*)$/m.exec(certificate.subject)?.[1];
    return signed && (allowedNames.length === 0 || (name !== undefined && allowedNames.includes(name)));
  }
}

const valuesOf = ({ headersDistinct }: IncomingMessage, names: readonly string[]): readonly string[] =>
  names.flatMap((name) => ownMember(headersDistinct, name.toLowerCase()) ?? []);

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
