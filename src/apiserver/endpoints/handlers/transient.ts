import type { ServerResponse } from 'node:http';
import { type JsonObject, nameOf, objectAt } from '../../../apimachinery/json.ts';
import { groupVersionOf, internalName, type Kind } from '../../../apimachinery/kinds.ts';
import { manageUpdate } from '../../../apimachinery/managed-fields/managed-fields.ts';
import { methodNotAllowed, StatusError } from '../../../apimachinery/status-error.ts';
import type { AdmissionChain } from '../../admission/chain.ts';
import { review, type ReviewDeps } from '../../registry/reviews.ts';
import type { ApiRequest, ResourcePath } from '../../request/request.ts';
import type { World } from '../../request/write-context.ts';
import { bodyFormat, expectedOf, readWritten } from '../body.ts';
import { readOnly } from '../documents.ts';
import { contextOf, withWarnings } from '../exchange.ts';
import { negotiate, wantsPretty } from '../negotiate.ts';
import { sendBody } from '../respond.ts';
import { bareViews, viewBare } from '../views.ts';
import { optionsOf, readWriteQuery } from '../write-options.ts';
import { admittedAction } from './admitted.ts';

export interface TransientDeps extends ReviewDeps {
  readonly world: World;
  readonly admission: AdmissionChain;
}

interface Call {
  readonly request: ApiRequest;
  readonly response: ServerResponse;
  readonly target: ResourcePath;
  readonly kind: Kind;
}

/** Answers a review: a kind that is created but not stored. @throws {StatusError} */
export async function answerReview(call: Call, deps: TransientDeps): Promise<void> {
  const { request, response, target, kind } = call;
  if (request.method !== 'POST' || target.name !== '') throw methodNotAllowed();
  const representation = negotiate(request.raw.headers.accept, {
    views: bareViews,
    pretty: wantsPretty(request.query, request.raw.headers['user-agent']),
  });
  bodyFormat(request.raw);
  const query = readWriteQuery(request.query, request.raw.headers['user-agent'], {
    options: 'CreateOptions',
    apply: false,
  });
  const read = await readWritten(request.raw, expectedOf(kind), query);
  const context = contextOf(deps.world, request, query.dryRun);
  const { warnings } = context;
  warnings.push(...read.warnings);
  try {
    const object =
      (await admittedAction(deps.admission, {
        operation: 'CREATE',
        kind,
        subresource: '',
        namespace: target.namespace,
        name: '',
        object: read.object,
        options: optionsOf('CreateOptions', query),
        context,
      })) ?? read.object;
    const managed = manageUpdate(undefined, object, kind.type, {
      writer: { manager: query.manager, operation: 'Update', apiVersion: groupVersionOf(kind) },
      now: context.now,
      reset: [['f:status']],
    });
    const { user, now } = context;
    const at = { user, namespace: target.namespace, now, managed: objectAt(managed, 'metadata') };
    const answer = await review(kind.kind, object, at, deps);
    const body = { kind: kind.kind, apiVersion: groupVersionOf(kind), ...answer };
    await sendBody(request.raw, response, {
      status: 201,
      body: viewBare(body, representation, internalName(kind)),
      representation,
      extras: { warnings },
    });
  } catch (reason) {
    throw withWarnings(reason, warnings);
  }
}

const health = (name: string, status: string, message: string): JsonObject => ({
  metadata: { name },
  conditions: [{ type: 'Healthy', status, message }],
});

/** The components that kube-apiserver names. The objects' storage answers for itself; nothing probes the others. */
const components: readonly JsonObject[] = [
  health('controller-manager', 'Unknown', 'not probed'),
  health('scheduler', 'Unknown', 'not probed'),
  health('etcd-0', 'True', 'ok'),
];

/** Answers component statuses. @throws {StatusError} 404 for another name */
export async function answerComponents({ request, response, target }: Call): Promise<void> {
  readOnly(request);
  const representation = negotiate(request.raw.headers.accept);
  const item = components.find((one) => nameOf(one) === target.name);
  if (target.name !== '' && !item)
    throw new StatusError(404, 'NotFound', `Component not found: ${target.name}`, { details: {} });
  const body = item
    ? { kind: 'ComponentStatus', apiVersion: 'v1', ...item }
    : { kind: 'ComponentStatusList', apiVersion: 'v1', metadata: {}, items: components };
  await sendBody(request.raw, response, { status: 200, representation, body });
}
