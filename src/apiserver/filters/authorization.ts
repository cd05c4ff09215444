import { decodedPath } from '../../go/url-path.ts';
import { selectedName } from '../../apimachinery/selectors.ts';
import type { Attributes } from '../authorization/attributes.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { type ApiRequest, verbOf } from '../request/request.ts';
import type { Handler } from '../request/handler.ts';
import type { AccessMetrics } from './access-metrics.ts';
import { answerInternalError } from './internal-error.ts';
import { noSniff } from '../request/headers.ts';
import { StatusError } from '../../apimachinery/status-error.ts';

/** Returns a 403 in the API server's words. */
export function denied(attributes: Attributes, reason: string): StatusError {
  const { user, verb, group, resource, subresource, namespace, name, path } = attributes;
  const who = JSON.stringify(user.name);
  const why = reason && `: ${reason}`;
  if (path !== undefined)
    return new StatusError(
      403,
      'Forbidden',
      `forbidden: User ${who} cannot ${verb} path ${JSON.stringify(path)}${why}`,
      { details: {}, headers: noSniff },
    );
  const what = subresource ? `${resource}/${subresource}` : resource;
  const where = namespace ? `in the namespace ${JSON.stringify(namespace)}` : 'at the cluster scope';
  const head = `${group ? `${resource}.${group}` : resource}${name ? ` ${JSON.stringify(name)}` : ''}`;
  const message = `${resource === '' ? '' : `${head} is `}forbidden: User ${who} cannot ${verb} resource ${JSON.stringify(what)} in API group ${JSON.stringify(group)} ${where}${why}`;
  return new StatusError(403, 'Forbidden', message, {
    details: { ...(name && { name }), ...(group && { group }), ...(resource && { kind: resource }) },
    headers: noSniff,
  });
}

/** Verbs on several objects; with a field selector on the name they concern one. */
const collectionVerbs: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection']);

/** Returns the authorization attributes of a request. */
export function attributesOf({ user, method, path, query, target }: ApiRequest): Attributes {
  const verb = verbOf(method, target, query);
  const none = { group: '', resource: '', subresource: '', namespace: '', name: '' };
  if (!target) return { user, verb, path: decodedPath(path), ...none };
  const { group, version, resource, subresource, namespace } = target;
  const [fieldSelector, labelSelector] = [query.get('fieldSelector') ?? '', query.get('labelSelector') ?? ''];
  const name = target.name || (collectionVerbs.has(verb) ? selectedName(fieldSelector) : '');
  return { user, verb, group, version, resource, subresource, namespace, name, fieldSelector, labelSelector };
}

/** Rejects unauthorized requests with 403, and those that could not be judged with 500. */
export const withAuthorization =
  (authorizer: Pick<Authorizer, 'decide'>, metrics: AccessMetrics, next: Handler): Handler =>
  async (request, response) => {
    const since = metrics.now();
    const attributes = attributesOf(request);
    const pending = authorizer.decide(attributes);
    const decision = pending instanceof Promise ? await pending : pending;
    metrics.decided(decision, since);
    if (!decision.allowed && decision.error !== undefined) {
      request.audit?.annotate('authorization.k8s.io/reason', 'internal error');
      answerInternalError(request, response, decision.error);
      return;
    }
    const { allowed, reason } = decision;
    request.audit?.annotate('authorization.k8s.io/decision', allowed ? 'allow' : 'forbid');
    request.audit?.annotate('authorization.k8s.io/reason', reason);
    if (!allowed) throw denied(attributes, reason);
    return next(request, response);
  };
