import { ownMember } from '../../base/own.ts';
import type { IncomingMessage } from 'node:http';
import { decodedPath } from '../../go/url-path.ts';
import type { Attributes, Decision } from '../authorization/attributes.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { attributesOf, denied } from './authorization.ts';
import type { Handler } from '../request/handler.ts';
import { noSniff } from '../request/headers.ts';
import { StatusError } from '../../apimachinery/status-error.ts';
import { anonymous, type User } from '../authentication/users.ts';

/** The impersonation headers of a request. */
interface ImpersonatedUser {
  readonly name: string;
  readonly groups: readonly string[];
  readonly uid: string;
  readonly extra: Readonly<Record<string, readonly string[]>>;
}

const extraHead = 'impersonate-extra-';

/** Reports whether a request may impersonate: few do, so that only their headers are read one by one. */
const isImpersonating = ({ headers }: IncomingMessage): boolean =>
  Object.keys(headers).some((name) => name.startsWith('impersonate-'));

function targetOf({ headersDistinct }: IncomingMessage): ImpersonatedUser {
  const first = (name: string): string => ownMember(headersDistinct, name)?.[0] ?? '';
  const extra = Object.entries(headersDistinct).flatMap(([name, values = []]) =>
    name.startsWith(extraHead) ? [[decodedPath(name.slice(extraHead.length)), values] as const] : [],
  );
  return {
    name: first('impersonate-user'),
    groups: headersDistinct['impersonate-group'] ?? [],
    uid: first('impersonate-uid'),
    extra: Object.fromEntries(extra),
  };
}

const isNothing = ({ name, groups, uid, extra }: ImpersonatedUser): boolean =>
  name === '' && uid === '' && groups.length === 0 && Object.keys(extra).length === 0;

/** Returns namespace and name of a service account's user name. */
const accountOf = (name: string): readonly string[] | undefined =>
  /^system:serviceaccount:([^:]+):([^:]+)$/.exec(name)?.slice(1);

/** Serves a request as the impersonated user if its own user may impersonate, and rejects it with 403 otherwise. */
export const withImpersonation =
  (authorizer: Pick<Authorizer, 'decide'>, next: Handler): Handler =>
  async (request, response) => {
    if (!isImpersonating(request.raw)) return next(request, response);
    const target = targetOf(request.raw);
    if (isNothing(target)) return next(request, response);
    const user = await impersonated(target, attributesOf(request), (at) => authorizer.decide(at));
    request.audit?.impersonates(user);
    return next({ ...request, user }, response);
  };

/**
 * Returns the user that a request impersonates.
 *
 * @param own attributes of the request with its own user
 * @throws {StatusError} 400, 403
 */
async function impersonated(
  target: ImpersonatedUser,
  own: Attributes,
  decide: (attributes: Attributes) => Decision | Promise<Decision>,
): Promise<User> {
  if (target.name === '') throw unnamed(target);
  const mode = modeOf(target);
  for (const attributes of checksOf(target, own.user)) {
    const { allowed, reason } = await decide(attributes);
    if (allowed) continue;
    const limited = mode && { ...own, verb: `impersonate-on:${mode}:${own.verb}` };
    throw limited ? denied(limited, (await decide(limited)).reason) : denied(attributes, reason);
  }
  const { name, uid, extra } = target;
  return { name, groups: groupsOf(target), ...(uid && { uid }), extra };
}

/** Returns the limited mode of impersonation for error messages; `undefined`: there is none for this user. */
function modeOf({ name, ...more }: ImpersonatedUser): string | undefined {
  const bare = isNothing({ ...more, name: '' });
  if (name.startsWith('system:node:')) return bare ? 'arbitrary-node' : undefined;
  if (accountOf(name)) return bare ? 'serviceaccount' : undefined;
  return 'user-info';
}

/** Returns the attributes to authorize: the user, each group, each extra value, and the UID. */
function checksOf({ name, groups, uid, extra }: ImpersonatedUser, user: User): readonly Attributes[] {
  const rest = { user, verb: 'impersonate', group: '', subresource: '', namespace: '' };
  const other = { ...rest, group: 'authentication.k8s.io' };
  const [namespace, account] = accountOf(name) ?? [];
  return [
    namespace !== undefined && account !== undefined
      ? { ...rest, resource: 'serviceaccounts', namespace, name: account }
      : { ...rest, resource: 'users', name },
    ...groups.map((one) => ({ ...rest, resource: 'groups', name: one })),
    ...Object.entries(extra).flatMap(([key, values]) =>
      values.map((value) => ({ ...other, resource: 'userextras', subresource: key, name: value })),
    ),
    ...(uid === '' ? [] : [{ ...other, resource: 'uids', name: uid }]),
  ];
}

/** Returns the requested groups, or those of a service account, plus `system:authenticated` or `system:unauthenticated`. */
function groupsOf({ name, groups }: ImpersonatedUser): readonly string[] {
  const [namespace] = accountOf(name) ?? [];
  const account =
    namespace === undefined ? [] : ['system:serviceaccounts', `system:serviceaccounts:${namespace}`];
  const base = groups.length > 0 ? groups : account;
  const unknown = anonymous.groups;
  const [all, unless] =
    name === anonymous.name
      ? [unknown, unknown]
      : [['system:authenticated'], ['system:authenticated', ...unknown]];
  return base.some((group) => unless.includes(group)) ? base : [...base, ...all];
}

const unnamed = ({ uid, groups, extra }: ImpersonatedUser): StatusError =>
  new StatusError(
    400,
    'BadRequest',
    `requested &user.DefaultInfo{Name:"", UID:${JSON.stringify(uid)}, Groups:${goStrings(groups)}, Extra:${goExtra(extra)}} without impersonating a user name`,
    { headers: noSniff },
  );

/** Formats texts like Go's `%#v`. */
const goStrings = (texts: readonly string[]): string =>
  texts.length > 0 ? `[]string{${texts.map((text) => JSON.stringify(text)).join(', ')}}` : '[]string(nil)';

function goExtra(extra: Readonly<Record<string, readonly string[]>>): string {
  const pairs = Object.entries(extra).sort(([a], [b]) => (a < b ? -1 : 1));
  const type = 'map[string][]string';
  return pairs.length > 0
    ? `${type}{${pairs.map(([key, texts]) => `${JSON.stringify(key)}:${goStrings(texts)}`).join(', ')}}`
    : `${type}(nil)`;
}
