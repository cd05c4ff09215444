import type { ServerResponse } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import { type JsonObject, metadataOf } from '../../apimachinery/json.ts';
import { groupVersionOf } from '../../apimachinery/kinds.ts';
import { type ApiRequest, type ResourcePath, verbOf } from '../request/request.ts';
import type { User } from '../authentication/users.ts';
import type { Handler } from '../request/handler.ts';

/** Receives each audit event (`audit.k8s.io/v1`, level Metadata, stage ResponseComplete) when its request has been answered. */
export type AuditSink = (event: JsonObject) => void;

interface AuditDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly audit?: AuditSink;
}

/** Records user, request and result once the response is written or its connection is gone; does nothing without a sink. */
export function withAudit({ clock, random, audit }: AuditDeps, next: Handler): Handler {
  if (!audit) return next;
  return async (request, response) => {
    const annotations = new Map<string, string>();
    const auditID = random.uuid();
    const received = clock.now();
    response.setHeader('Audit-Id', auditID);
    const details: { impersonated?: User; object?: JsonObject } = {};
    let isRecorded = false;
    const complete = (): void => {
      if (isRecorded) return;
      isRecorded = true;
      audit({
        kind: 'Event',
        apiVersion: 'audit.k8s.io/v1',
        level: 'Metadata',
        auditID,
        stage: 'ResponseComplete',
        ...described(request, details.object ?? {}),
        ...(details.impersonated && { impersonatedUser: userInfo(details.impersonated) }),
        responseStatus: statusOf(response),
        requestReceivedTimestamp: new Date(received).toISOString(),
        stageTimestamp: new Date(clock.now()).toISOString(),
        ...(annotations.size > 0 && { annotations: Object.fromEntries(annotations) }),
      });
    };
    // before the client can have the response: who has it finds the event recorded
    response.once('prefinish', complete);
    response.once('close', complete);
    const record = {
      annotate: (key: string, value: string) => void annotations.set(key, value),
      impersonates: (user: User) => {
        details.impersonated = user;
      },
      about: (object: JsonObject) => {
        details.object = object;
      },
    };
    await next({ ...request, audit: record }, response);
  };
}

const userInfo = ({ name, uid, groups, extra }: User): JsonObject => ({
  username: name,
  ...(uid !== undefined && { uid }),
  ...(groups.length > 0 && { groups }),
  ...(extra && Object.keys(extra).length > 0 && { extra }),
});

function described({ raw, method, query, target, user }: ApiRequest, object: JsonObject): JsonObject {
  const agent = raw.headers['user-agent'];
  return {
    requestURI: raw.url ?? '',
    verb: verbOf(method, target, query),
    user: userInfo(user),
    sourceIPs: [raw.socket.remoteAddress ?? ''].filter(Boolean),
    ...(agent !== undefined && { userAgent: agent }),
    ...(target && { objectRef: objectRefOf(target, metadataOf(object)) }),
  };
}

function objectRefOf(target: ResourcePath, { name, uid, resourceVersion }: JsonObject): JsonObject {
  const parts = {
    resource: target.resource,
    namespace: target.namespace,
    name: target.name || name,
    uid,
    apiGroup: target.group,
    apiVersion: target.kind ? groupVersionOf(target.kind).split('/').at(-1) : target.version,
    resourceVersion,
    subresource: target.subresource,
  };
  return Object.fromEntries(Object.entries(parts).filter(([, value]) => value !== undefined && value !== ''));
}

const statusOf = ({ statusCode }: ServerResponse): JsonObject => ({
  metadata: {},
  ...(statusCode >= 400 && { status: 'Failure' }),
  code: statusCode,
});
