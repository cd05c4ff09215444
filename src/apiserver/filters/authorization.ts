import type { Attributes } from '../authorization/authorizer.ts';
import { noSniff } from '../request/headers.ts';
import { StatusError } from '../../apimachinery/status-error.ts';

/** 403 in the API server's words. */
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
