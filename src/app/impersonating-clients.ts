import { type ApiConnection, fixedCredentials } from '../api/rest/connection.ts';
import { type ApiClientDeps, createApiClient, type HttpApiClient } from '../api/rest/http-client.ts';

/** ImpersonatingClients makes clients of one API server that act as other users, one for each user. */
export class ImpersonatingClients {
  readonly #connection: ApiConnection;
  readonly #deps: ApiClientDeps;
  readonly #clients = new Map<string, HttpApiClient>();

  constructor(connection: ApiConnection, deps: ApiClientDeps) {
    this.#connection = connection;
    this.#deps = deps;
  }

  /** Returns the client that acts as a user; the API server decides whether it may. */
  of(username: string): HttpApiClient {
    const existing = this.#clients.get(username);
    if (existing) return existing;
    const own = this.#connection.credentials ?? fixedCredentials(this.#connection);
    const credentials = {
      current: async () => {
        const { headers, ...rest } = await own.current();
        return { ...rest, headers: { ...headers, 'impersonate-user': username } };
      },
      invalidate: () => {
        own.invalidate();
      },
    };
    const client = createApiClient({ ...this.#connection, credentials }, this.#deps);
    this.#clients.set(username, client);
    return client;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#clients.values()].map((client) => client.close()));
  }
}
