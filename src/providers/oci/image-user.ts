import { AgentError } from '../../base/errors.ts';
import type { ProcessUser } from '../../processes/user.ts';
import { type LinuxContainerSecurityContext, SupplementalGroupsPolicy } from '../../provider/cri-messages.ts';
import { textInRoot } from './in-root.ts';

interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
}

/** A user of a container, with its home directory. */
export interface ImageUser extends ProcessUser {
  readonly home: string;
}

/**
 * Returns the user of a container: of its security context, otherwise of its image (`name`, `uid`, `name:group`, `uid:gid`). Names and
 * groups are looked up in the image's `/etc/passwd` and `/etc/group`, as by container runtimes: a user without an entry has group 0.
 *
 * @throws {AgentError} `invalid_argument` in the words of container runtimes for a name without an entry
 */
export function imageUser(
  root: string,
  imageText: string,
  context: LinuxContainerSecurityContext = {},
): ImageUser {
  const groups = groupsOf(textInRoot(root, '/etc/group'));
  const [imageName = '', imageGroup = ''] = imageText.split(':');
  const requested = requestedUser(context);
  const account = accountOf(accountsOf(textInRoot(root, '/etc/passwd')), requested ?? imageName);
  const ownGroup = requested === undefined && imageGroup !== '' ? groupId(imageGroup, groups) : account.gid;
  const gid = context.runAsGroup?.value ?? ownGroup;
  const strict = context.supplementalGroupsPolicy === SupplementalGroupsPolicy.Strict;
  const members = groups.filter(
    ({ users }) => !strict && account.name !== '' && users.includes(account.name),
  );
  const all = [...members.map((group) => group.gid), ...(context.supplementalGroups ?? [])];
  return { uid: account.uid, gid, supplementalGroups: [...new Set(all)], home: account.home };
}

/** Returns the user of a security context, by number or name. */
function requestedUser({ runAsUser, runAsUsername = '' }: LinuxContainerSecurityContext): string | undefined {
  if (runAsUser) return String(runAsUser.value ?? 0);
  return runAsUsername === '' ? undefined : runAsUsername;
}

/** Finds an account by name, then by number; a number without an account has group 0. */
function accountOf(accounts: readonly Account[], user: string): Account {
  const number = user === '' ? '0' : user;
  const found =
    accounts.find(({ name }) => name === user) ?? accounts.find(({ uid }) => String(uid) === number);
  if (found) return found;
  if (isNumber(number)) return { name: '', uid: Number(number), gid: 0, home: '/' };
  throw new AgentError('invalid_argument', `unable to find user ${user}: no matching entries in passwd file`);
}

interface Group {
  readonly name: string;
  readonly gid: number;
  readonly users: readonly string[];
}

function groupId(text: string, groups: readonly Group[]): number {
  const found = groups.find(({ name }) => name === text);
  if (found) return found.gid;
  if (isNumber(text)) return Number(text);
  throw new AgentError('invalid_argument', `unable to find group ${text}: no matching entries in group file`);
}

const isNumber = (text: string): boolean => /^\d{1,10}$/.test(text);

const fieldsOf = (text: string): readonly (readonly string[])[] =>
  text
    .split('\n')
    .filter((line) => line !== '' && !line.startsWith('#'))
    .map((line) => line.split(':'));

const accountsOf = (text: string): readonly Account[] =>
  fieldsOf(text).flatMap(([name = '', , uid = '', gid = '', , home = '']) =>
    isNumber(uid) && isNumber(gid)
      ? [{ name, uid: Number(uid), gid: Number(gid), home: home === '' ? '/' : home }]
      : [],
  );

const groupsOf = (text: string): readonly Group[] =>
  fieldsOf(text).flatMap(([name = '', , gid = '', users = '']) =>
    isNumber(gid) ? [{ name, gid: Number(gid), users: users.split(',') }] : [],
  );
