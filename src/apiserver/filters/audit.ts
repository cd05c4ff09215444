import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/logger.ts';
import type { Random } from '../../base/random.ts';
import { isObject, type JsonObject, metadataOf, without, withMetadata } from '../../apimachinery/json.ts';
import { groupVersionOf } from '../../apimachinery/kinds.ts';
import { microTimeText } from '../../kube/time.ts';
import { type AuditLevel, auditLevels, type AuditRecord, keepAudit } from '../request/audit-record.ts';
import {
  type ApiRequest,
  isLongRunning,
  type ResourcePath,
  type UnauthenticatedRequest,
} from '../request/request.ts';
import type { User } from '../authentication/users.ts';
import type { Handler } from '../request/handler.ts';
import { type AuditConfig, AuditPolicy, type AuditStage } from './audit-policy.ts';
import type { AuditMetrics } from './audit-metrics.ts';
import { attributesOf } from './authorization.ts';
import { answerInternalError } from './internal-error.ts';

/** Receives each audit event (`audit.k8s.io/v1`); throws when it cannot record it. */
export type AuditSink = (event: JsonObject) => void;

/** What becomes of a request whose event cannot be recorded when it is received: it is served all the same, or rejected. */
export type AuditMode = 'blocking' | 'blocking-strict';

export interface AuditDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly logger: Logger;
  readonly audit?: AuditSink;
  /** Absent: an event of the level Metadata when a request has been answered. */
  readonly auditPolicy?: AuditPolicy;
  /** Default: `blocking`. */
  readonly auditMode?: AuditMode;
  readonly auditMetrics: AuditMetrics;
}

/**
 * Records requests as the policy says: when they are received, when a long-running one is answered, and once the response is written or its
 * connection is gone. Does nothing without a sink.
 */
export function withAudit(deps: AuditDeps, next: Handler): Handler {
  const { audit, auditPolicy: policy = AuditPolicy.ofMetadata(), auditMode, auditMetrics } = deps;
  if (!audit) return next;
  return async (request, response) => {
    const event = begun({ ...deps, audit, policy }, request, response);
    if (!event) return next(request, response);
    if (!event.stage('RequestReceived') && auditMode === 'blocking-strict') {
      auditMetrics.rejected();
      answerInternalError(request, response, 'failed to store audit event');
      return;
    }
    if (isLongRunning(request)) event.watchStart(response);
    if (request.upgrading) event.watchUpgrade(response);
    const complete = (): void => {
      event.complete(response);
    };
    // before the client can have the response: who has it finds the event recorded
    response.once('prefinish', complete);
    response.once('close', complete);
    await next({ ...request, audit: event }, response);
    // a connection that was taken over has no response that ends
    if (event.isTakenOver) complete();
  };
}

/** Returns what records a request whose credentials are invalid, as its response starts. */
export function failedAuthenticationAudit(
  deps: AuditDeps,
): (request: UnauthenticatedRequest, response: ServerResponse) => void {
  const { audit, auditPolicy: policy = AuditPolicy.ofMetadata() } = deps;
  if (!audit) return () => undefined;
  return (request, response) => {
    begun({ ...deps, audit, policy }, { ...request, user: nobody }, response)?.watchStart(response);
  };
}

const nobody: User = { name: '', groups: [] };

function begun(
  deps: AuditDeps & { readonly audit: AuditSink; readonly policy: AuditPolicy },
  request: ApiRequest,
  response: ServerResponse,
): AuditEvent | undefined {
  const { raw } = request;
  const sent = raw.headers['audit-id'];
  const auditID = typeof sent === 'string' && sent !== '' ? sent : deps.random.uuid();
  response.setHeader('Audit-Id', auditID);
  const attributes = attributesOf(request);
  const config = deps.policy.configFor(attributes);
  deps.auditMetrics.leveled(config.level);
  if (config.level === 'None') return undefined;
  const event = new AuditEvent(deps, config, {
    request,
    auditID,
    name: attributes.name,
    verb: attributes.verb,
  });
  keepAudit(raw, event);
  return event;
}

type EventDeps = Pick<AuditDeps, 'clock' | 'logger' | 'auditMetrics'> & { readonly audit: AuditSink };

/** AuditEvent is what has been recorded of one request; each stage sends it to the sink. */
class AuditEvent implements AuditRecord {
  /** Whether an upgrade has taken the connection from the response. */
  isTakenOver = false;
  readonly #deps: EventDeps;
  readonly #config: AuditConfig;
  readonly #received: number;
  readonly #head: JsonObject;
  readonly #described: JsonObject;
  readonly #agent: JsonObject;
  readonly #annotations = new Map<string, string>();
  #ref: JsonObject | undefined;
  #impersonated: User | undefined;
  #status: JsonObject | undefined;
  #requestObject: unknown;
  #responseObject: unknown;
  #isStarted = false;
  #isComplete = false;

  constructor(
    deps: EventDeps,
    config: AuditConfig,
    about: {
      readonly request: ApiRequest;
      readonly auditID: string;
      readonly name: string;
      readonly verb: string;
    },
  ) {
    this.#deps = deps;
    this.#config = config;
    this.#received = deps.clock.now();
    const { request, auditID, name, verb } = about;
    this.#head = { kind: 'Event', apiVersion: 'audit.k8s.io/v1', level: config.level, auditID };
    this.#described = { requestURI: request.raw.url ?? '', verb, user: userInfo(request.user) };
    this.#ref = request.target && objectRefOf(request.target, name);
    this.#agent = agentOf(request.raw);
  }

  get wantsAnswer(): boolean {
    return this.#config.level === 'RequestResponse';
  }

  annotate(key: string, value: string, least: AuditLevel = 'Metadata'): void {
    if (this.#has(least) && !this.#annotations.has(key)) this.#annotations.set(key, value);
  }

  impersonates(user: User): void {
    this.#impersonated = user;
  }

  about(object: JsonObject, type: { readonly apiVersion: string; readonly kind: string }): void {
    const { namespace, name, uid, resourceVersion } = metadataOf(object);
    const own = present({ namespace, name, uid, resourceVersion });
    if (this.#ref) this.#ref = inOrder({ ...own, ...this.#ref });
    if (this.#has('Request')) {
      const { kind, apiVersion } = type;
      this.#requestObject = this.#bare({ kind, apiVersion, ...without(object, 'kind', 'apiVersion') });
    }
  }

  patches(read: () => unknown): void {
    if (this.#has('Request')) this.#requestObject = read();
  }

  answers(body: unknown): void {
    if (isObject(body) && body['kind'] === 'Status') {
      const { status, message, reason, details, code } = body;
      this.#status = present({ status, message, reason, details, code });
    }
    if (this.wantsAnswer) this.#responseObject = this.#bare(body);
  }

  /** Records when the response starts. */
  watchStart(response: ServerResponse): void {
    const writeHead = response.writeHead.bind(response) as (...args: readonly unknown[]) => ServerResponse;
    Object.assign(response, {
      writeHead: (code: number, ...rest: readonly unknown[]) => {
        this.#start(code);
        return writeHead(code, ...rest);
      },
    });
  }

  /** Records when an upgrade takes the connection from the response. */
  watchUpgrade(response: ServerResponse): void {
    const detachSocket = response.detachSocket.bind(response);
    Object.assign(response, {
      detachSocket: (socket: Socket) => {
        this.isTakenOver = true;
        this.#start(101);
        detachSocket(socket);
      },
    });
  }

  #start(code: number): void {
    if (this.#isStarted) return;
    this.#isStarted = true;
    this.#status = { ...this.#status, code };
    this.stage('ResponseStarted');
  }

  /** Records the end of a request, once. */
  complete({ statusCode, headersSent }: ServerResponse): void {
    if (this.#isComplete) return;
    this.#isComplete = true;
    if (headersSent) this.#status = { ...this.#status, code: statusCode };
    this.#status ??= { status: 'Success', message: 'Connection closed early', code: 200 };
    this.stage('ResponseComplete');
  }

  /** Sends the event of a stage, unless the policy omits it; returns false when it could not be recorded. */
  stage(stage: AuditStage): boolean {
    if (this.#config.omitStages.has(stage)) return true;
    const { audit, auditMetrics, logger } = this.#deps;
    auditMetrics.made();
    try {
      audit(this.#eventAt(stage));
      return true;
    } catch (reason) {
      auditMetrics.failed();
      logger.error('audit event could not be recorded', { stage, err: messageOf(reason) });
      return false;
    }
  }

  #eventAt(stage: AuditStage): JsonObject {
    const at = stage === 'RequestReceived' ? this.#received : this.#deps.clock.now();
    return {
      ...this.#head,
      stage,
      ...this.#described,
      ...(this.#impersonated && { impersonatedUser: userInfo(this.#impersonated) }),
      ...this.#agent,
      ...(this.#ref && { objectRef: this.#ref }),
      ...(this.#status && { responseStatus: { metadata: {}, ...this.#status } }),
      ...present({ requestObject: this.#requestObject, responseObject: this.#responseObject }),
      requestReceivedTimestamp: microTimeText(this.#received),
      stageTimestamp: microTimeText(at),
      ...(this.#annotations.size > 0 && { annotations: Object.fromEntries(this.#annotations) }),
    };
  }

  #has(level: AuditLevel): boolean {
    return auditLevels.indexOf(this.#config.level) >= auditLevels.indexOf(level);
  }

  #bare(body: unknown): unknown {
    return this.#config.omitManagedFields && isObject(body) ? withoutManagedFields(body) : body;
  }
}

/** Returns the members that are there and not empty. */
const present = (members: JsonObject): JsonObject =>
  Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined && value !== ''));

const userInfo = ({ name, uid, groups, extra }: User): JsonObject => ({
  ...(name !== '' && { username: name }),
  ...(uid !== undefined && { uid }),
  ...(groups.length > 0 && { groups }),
  ...(extra && Object.keys(extra).length > 0 && { extra }),
});

/** Characters of a user agent that are recorded. */
const agentMost = 1024;

function agentOf({ headers, socket }: IncomingMessage): JsonObject {
  const agent = headers['user-agent'] ?? '';
  const from = (socket.remoteAddress ?? '').replace(/^::ffff:/, '');
  return {
    ...(from !== '' && { sourceIPs: [from] }),
    ...(agent !== '' && {
      userAgent: agent.length > agentMost ? `${agent.slice(0, agentMost)}...TRUNCATED` : agent,
    }),
  };
}

const objectRefOf = (target: ResourcePath, name: string): JsonObject =>
  inOrder({
    resource: target.resource,
    namespace: target.namespace,
    name,
    apiGroup: target.group,
    apiVersion: target.kind ? groupVersionOf(target.kind).split('/').at(-1) : target.version,
    subresource: target.subresource,
  });

/** Returns an object reference with its members in their order. */
const inOrder = (ref: JsonObject): JsonObject => {
  const { resource, namespace, name, uid, apiGroup, apiVersion, resourceVersion, subresource } = ref;
  return present({ resource, namespace, name, uid, apiGroup, apiVersion, resourceVersion, subresource });
};

/** Returns an object, a list or a table without managed fields. */
function withoutManagedFields(body: JsonObject): JsonObject {
  const { metadata, items, rows } = body;
  const bare =
    isObject(metadata) && 'managedFields' in metadata
      ? withMetadata(body, { managedFields: undefined })
      : body;
  const each = (list: readonly unknown[]): readonly unknown[] =>
    list.map((one) => (isObject(one) ? withoutManagedFields(one) : one));
  if (Array.isArray(items)) return { ...bare, items: each(items) };
  if (!Array.isArray(rows)) return bare;
  const ofRow = (row: unknown): unknown =>
    isObject(row) && isObject(row['object']) ? { ...row, object: withoutManagedFields(row['object']) } : row;
  return { ...bare, rows: rows.map(ofRow) };
}
