import type { ServerResponse } from 'node:http';
import type { Clock } from '../../base/clock.ts';
import type { Random } from '../../base/random.ts';
import type { JsonObject } from '../../apimachinery/json.ts';
import { groupVersionOf } from '../../apimachinery/kinds.ts';
import { type ApiRequest, verbOf } from '../request/request.ts';
import type { User } from '../authentication/users.ts';
import type { Handler } from '../request/handler.ts';

/** Receives each audit event (`audit.k8s.io/v1`, level Metadata, stage ResponseComplete) when its request has been answered. */
export type AuditSink = (event: JsonObject) => void;

interface AuditDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly audit?: AuditSink;
}

/** Records user, request and result once the response is sent or its connection is gone; does nothing without a sink. */
export function withAudit({ clock, random, audit }: AuditDeps, next: Handler): Handler {
  if (!audit) return next;
  return async (request, response) => {
    const annotations = new Map<string, string>();
    const auditID = random.uuid();
    const received = clock.now();
    response.setHeader('Audit-Id', auditID);
    const impersonated: { user?: User } = {};
    response.once('close', () => {
      audit({
        kind: 'Event',
        apiVersion: 'audit.k8s.io/v1',
        level: 'Metadata',
        auditID,
        stage: 'ResponseComplete',
        ...described(request),
        ...(impersonated.user && { impersonatedUser: userInfo(impersonated.user) }),
        responseStatus: statusOf(response),
        requestReceivedTimestamp: new Date(received).toISOString(),
        stageTimestamp: new Date(clock.now()).toISOString(),
        ...(annotations.size > 0 && { annotations: Object.fromEntries(annotations) }),
      });
    });
    const record = {
      annotate: (key: string, value: string) => void annotations.set(key, value),
      impersonates: (user: User) => {
        impersonated.user = user;
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

function described({ raw, method, query, target, user }: ApiRequest): JsonObject {
  const agent = raw.headers['user-agent'];
  return {
    requestURI: raw.url ?? '',
    verb: verbOf(method, target, query),
    user: userInfo(user),
    sourceIPs: [raw.socket.remoteAddress ?? ''].filter(Boolean),
    ...(agent !== undefined && { userAgent: agent }),
    ...(target && {
      objectRef: {
        resource: target.resource,
        ...(target.namespace !== '' && { namespace: target.namespace }),
        ...(target.name !== '' && { name: target.name }),
        ...(target.group !== '' && { apiGroup: target.group }),
        apiVersion: target.kind ? groupVersionOf(target.kind).split('/').at(-1) : target.version,
        ...(target.subresource !== '' && { subresource: target.subresource }),
      },
    }),
  };
}

const statusOf = ({ statusCode }: ServerResponse): JsonObject => ({
  metadata: {},
  ...(statusCode >= 400 && { status: 'Failure' }),
  code: statusCode,
});
