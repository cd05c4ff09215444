import type { JsonObject } from '../apimachinery/json.ts';
import { EmbeddedApiServer } from './server.ts';
import type { EmbeddedApiServerOptions } from './server-options.ts';

/** An audit event (`audit.k8s.io/v1`). */
export interface AuditEvent {
  readonly kind: 'Event';
  readonly apiVersion: 'audit.k8s.io/v1';
  readonly level: 'Metadata' | 'Request' | 'RequestResponse';
  readonly stage: 'RequestReceived' | 'ResponseStarted' | 'ResponseComplete' | 'Panic';
  readonly auditID: string;
  readonly requestURI: string;
  readonly verb: string;
  readonly user: { readonly username?: string; readonly groups?: readonly string[] };
  readonly impersonatedUser?: AuditEvent['user'];
  readonly userAgent?: string;
  readonly sourceIPs?: readonly string[];
  readonly objectRef?: {
    readonly resource?: string;
    readonly namespace?: string;
    readonly name?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
    readonly apiGroup?: string;
    readonly apiVersion?: string;
    readonly subresource?: string;
  };
  readonly responseStatus?: {
    readonly code?: number;
    readonly status?: string;
    readonly reason?: string;
    readonly message?: string;
  };
  /** The sent object or patch; from the level Request on. */
  readonly requestObject?: JsonObject;
  /** The answer; at the level RequestResponse. */
  readonly responseObject?: JsonObject;
  readonly requestReceivedTimestamp: string;
  readonly stageTimestamp: string;
  readonly annotations?: Readonly<Record<string, string>>;
}

/** An API server for tests: it records every request. */
export interface TestApiServer extends EmbeddedApiServer {
  /** The audit events since the start: unless a policy says otherwise, every answered request, or since {@link TestApiServer.forget}, in the order of their ends. */
  readonly audit: readonly AuditEvent[];
  /** Empties {@link TestApiServer.audit}. */
  forget(): void;
}

/**
 * Starts an API server for tests in this process: in memory and on any free port, unless told otherwise; as many at once as a test wants,
 * each with objects, clock, keys and users of its own.
 *
 * @example
 * const server = await startApiServer();
 * const clean = server.snapshot();
 * // … a test …
 * server.restore(clean); // for the next test
 * await server.stop();
 */
export async function startApiServer(options: EmbeddedApiServerOptions = {}): Promise<TestApiServer> {
  const events: AuditEvent[] = [];
  const record = (event: JsonObject): void => {
    events.push(event as unknown as AuditEvent);
    options.audit?.(event);
  };
  const server = await EmbeddedApiServer.start({ ...options, audit: record });
  return Object.assign(server, {
    audit: events,
    forget: () => {
      events.length = 0;
    },
  });
}
