/** Credentials for the API server. A client certificate here takes precedence over the connection's own. */
export interface Credentials {
  readonly headers: Readonly<Record<string, string>>;
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** Authorities to trust from now on (client-go's gate ClientsAllowCARotation); absent: the connection's own. */
  readonly ca?: string | Buffer;
}

/** CredentialSource supplies credentials that change while the agent runs: exec plug-ins, OIDC, rotated token files. */
export interface CredentialSource {
  /** Returns the current credentials; cheap while the last result is valid. */
  current(): Promise<Credentials> | Credentials;
  /** Called when the API server rejected the credentials (401): the next result must be fresh. */
  invalidate(): void;
}

/** Address of the API server and credentials for it. It is complete: no file and no library is read. */
export interface ApiConnection {
  /** e.g. `https://127.0.0.1:6443` */
  readonly server: string;
  /** PEM of the authorities for the server's certificate; absent: the machine's own. */
  readonly ca?: string | Buffer;
  /** PEM of a client certificate, with `key`. */
  readonly cert?: string | Buffer;
  readonly key?: string | Buffer;
  /** A bearer token that does not change. */
  readonly token?: string;
  /** Takes precedence over `token`, `cert` and `key`. */
  readonly credentials?: CredentialSource;
  /** The expected name in the server's certificate, if it differs from the one in `server`. */
  readonly tlsServerName?: string;
  /** Trusts any certificate; for tests. */
  readonly skipTlsVerify?: boolean;
  /** The proxy to reach the API server through: `http://`, `https://` or `socks5://`, with a name and password if required. */
  readonly proxyUrl?: string;
  /** The namespace that the kubeconfig's context names. */
  readonly namespace?: string;
}

/** Returns the fixed credentials of a connection as a source. */
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
