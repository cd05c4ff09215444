/** What proves to the API server who asks. A client certificate here wins over the connection's own. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** Whom to trust from now on (client-go's gate ClientsAllowCARotation); absent: the connection's own. */
  readonly ca?: string | Buffer;
}

/** Credentials that change while the agent runs: exec plug-ins, OIDC, rotated token files. */
export interface CredentialSource {
  /** What to send now; cheap while the last answer is good. */
  current(): Promise<Credentials> | Credentials;
  /** The API server refused what `current` gave (401): the next answer must be fresh. */
  invalidate(): void;
}

/** Where the API server is and how to be let in. Everything needed is in it: no file and no library is read. */
export interface ApiConnection {
  /** e.g. `https://127.0.0.1:6443` */
  readonly server: string;
  /** PEM of the authorities that the server's certificate may come from; absent: the machine's own. */
  readonly ca?: string | Buffer;
  /** PEM of a client certificate, with `key`. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** A bearer token that does not change. */
  readonly token?: string;
  /** Wins over `token`, `cert` and `key`. */
  readonly credentials?: CredentialSource;
  /** The name in the server's certificate where it differs from the one in `server`. */
  readonly tlsServerName?: string;
  /** Trusts any certificate; for tests. */
  readonly skipTlsVerify?: boolean;
  /** The proxy that the API server is reached by: `http://`, `https://` or `socks5://`, with a name and password where it wants them. */
  readonly proxyUrl?: string;
  /** The namespace that the kubeconfig's context names. */
  readonly namespace?: string;
}

/** Fixed credentials of a connection, as a source. */
export function fixedCredentials(connection: ApiConnection): CredentialSource {
  const headers: Record<string, string> =
    connection.token === undefined ? {} : { authorization: `Bearer ${connection.token}` };
  const credentials: Credentials = {
    headers,
    ...(connection.cert !== undefined && { cert: connection.cert }),
    ...(connection.key !== undefined && { key: connection.key }),
  };
  return { current: () => credentials, invalidate: () => undefined };
}
