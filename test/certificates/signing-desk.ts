import { ApiError, type ObjectRef, type WatchEvent } from '../../src/api/client.ts';
import type { Resource } from '../../src/api/resources.ts';
import { Authority, hour, readSigningRequest, type SigningRequest } from '../../src/pki/certificates.ts';
import type { Clock } from '../../src/base/clock.ts';
import type { SigningClient } from '../../src/certificates/signing-request.ts';
import type { KubeList, KubeObject } from '../../src/kube/types.ts';

interface Csr extends KubeObject {
  readonly spec: {
    readonly request: string;
    readonly signerName: string;
    readonly usages: readonly string[];
  };
  status?: { certificate?: string; conditions?: readonly Condition[] };
}

interface Condition {
  readonly type: string;
  readonly reason: string;
  readonly message: string;
}

type Way = 'approve' | 'deny' | 'fail' | 'wait';

/** The part of an API server where certificate signing requests lie, decided as the test says, at once. */
export class SigningDesk implements SigningClient {
  readonly authority: Authority;
  readonly requests: Csr[] = [];
  way: Way = 'approve';
  lifetimeMs = hour;
  /** Host names that get into certificates; absent: all that were asked for. */
  onlyHosts: readonly string[] | undefined;
  /** Thrown by each call. */
  failure: Error | undefined;
  readonly #clock: Clock;
  readonly #watchers = new Set<(csr: Csr, type: 'MODIFIED' | 'DELETED') => void>();

  constructor(clock: Clock) {
    this.#clock = clock;
    this.authority = Authority.create('the-cluster', clock.now());
  }

  get watchers(): number {
    return this.#watchers.size;
  }

  asked(at = this.requests.length - 1): SigningRequest {
    return readSigningRequest(Buffer.from(this.requests[at]?.spec.request ?? '', 'base64').toString());
  }

  create<T extends KubeObject>(_resource: Resource, object: T): Promise<T> {
    return this.#answer(() => {
      const csr = object as unknown as Csr;
      const name = csr.metadata?.name ?? '';
      if (this.#find(name)) throw new ApiError(409, { reason: 'AlreadyExists', message: `${name} exists` });
      const made = { ...csr, metadata: { ...csr.metadata, uid: `uid-${this.requests.length}` } };
      this.requests.push(made);
      if (this.way !== 'wait') this.decide(this.way, name);
      return this.#find(name) as unknown as T;
    });
  }

  get<T extends KubeObject>(_resource: Resource, { name }: ObjectRef): Promise<T> {
    return this.#answer(() => this.#find(name) as unknown as T);
  }

  list<T extends KubeObject>(): Promise<KubeList<T>> {
    return this.#answer(() => ({
      metadata: { resourceVersion: '1' },
      items: [...this.requests].reverse() as unknown as T[],
    }));
  }

  async *watch<T extends KubeObject>(
    _resource: Resource,
    { signal }: { readonly signal?: AbortSignal } = {},
  ): AsyncGenerator<WatchEvent<T>> {
    for (;;) {
      const next = Promise.withResolvers<WatchEvent<T>>();
      const listener = (csr: Csr, type: 'MODIFIED' | 'DELETED'): void => {
        next.resolve({ type, object: csr as unknown as T });
      };
      this.#watchers.add(listener);
      const aborted = (): void => {
        next.reject(signal?.reason as Error);
      };
      signal?.addEventListener('abort', aborted, { once: true });
      try {
        yield await next.promise;
      } finally {
        signal?.removeEventListener('abort', aborted);
        this.#watchers.delete(listener);
      }
    }
  }

  /** Decides a request, the newest unless named. */
  decide(way: Exclude<Way, 'wait'>, name = this.requests.at(-1)?.metadata?.name ?? ''): void {
    const csr = this.#find(name);
    if (!csr) throw new Error(`no request ${name}`);
    const type = { approve: 'Approved', deny: 'Denied', fail: 'Failed' }[way];
    const conditions = [{ type, reason: `Test${type}`, message: 'the test says so' }];
    csr.status = { conditions, ...(way === 'approve' && { certificate: this.#sign(csr) }) };
    for (const watcher of [...this.#watchers]) watcher(csr, 'MODIFIED');
  }

  remove(): void {
    const csr = this.requests.pop();
    if (csr) for (const watcher of [...this.#watchers]) watcher(csr, 'DELETED');
  }

  #sign({ spec }: Csr): string {
    const request = readSigningRequest(Buffer.from(spec.request, 'base64').toString());
    const now = this.#clock.now();
    const cert = this.authority.sign({
      ...request,
      notBefore: now,
      notAfter: now + this.lifetimeMs,
      hosts: [...request.dnsNames, ...request.ips].filter((host) => this.onlyHosts?.includes(host) ?? true),
    });
    return Buffer.from(cert).toString('base64');
  }

  #find(name: string): Csr | undefined {
    return this.requests.find(({ metadata }) => metadata?.name === name);
  }

  async #answer<T>(answer: () => T): Promise<T> {
    await Promise.resolve();
    if (this.failure) throw this.failure;
    return answer();
  }
}
