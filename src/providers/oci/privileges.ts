import { AgentError } from '../../base/errors.ts';
import type { LinuxContainerSecurityContext } from '../../provider/cri-messages.ts';

/** The capabilities of a container's root by default, as of container runtimes. */
const defaultCapabilities = [
  'chown',
  'dac_override',
  'fowner',
  'fsetid',
  'kill',
  'mknod',
  'net_bind_service',
  'net_raw',
  'setfcap',
  'setgid',
  'setpcap',
  'setuid',
  'sys_chroot',
];

/** Without these the launcher itself could not enter the container. They lead nowhere from there. */
const entering = ['setuid', 'sys_chroot'];

/**
 * Returns the `setpriv` options for a container's capabilities: the defaults, without what is dropped and with what is added.
 *
 * @throws {AgentError} `invalid_argument` for a name that no capability can have
 */
export function capabilityWords({
  capabilities,
  privileged,
}: LinuxContainerSecurityContext): readonly string[] {
  if (privileged) return [];
  const { addCapabilities = [], dropCapabilities = [] } = capabilities ?? {};
  const [added, dropped] = [addCapabilities.map(plain), dropCapabilities.map(plain)];
  const remaining = dropped.includes('all')
    ? []
    : defaultCapabilities.filter((name) => !dropped.includes(name));
  const all = [...new Set([...remaining, ...entering, ...added.filter((name) => name !== 'all')])];
  const set = added.includes('all')
    ? [
        '+all',
        ...dropped.filter((name) => name !== 'all' && !entering.includes(name)).map((name) => `-${name}`),
      ]
    : ['-all', ...all.map((name) => `+${name}`)];
  return ['--inh-caps=-all', `--bounding-set=${set.join(',')}`];
}

function plain(name: string): string {
  if (/^(?:cap_)?[a-z_]+$/i.test(name)) return name.toLowerCase().replace(/^cap_/, '');
  throw new AgentError('invalid_argument', `unknown capability ${JSON.stringify(name)}`);
}
