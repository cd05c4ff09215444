import { AgentError } from '../../base/errors.ts';
import { programInRoot } from './in-root.ts';

/**
 * Variables that make the host's loader or C library read files: the programs that enter a container run in the host's root directory and must not
 * take them from the container. As in glibc's list for set-user-ID programs.
 */
const loaderNames =
  /^(?:LD_\w+|GLIBC_TUNABLES|GCONV_PATH|GETCONF_DIR|LOCPATH|NLSPATH|LOCALDOMAIN|NIS_PATH|RESOLV_HOST_CONF|RES_OPTIONS|HOSTALIASES|MALLOC_\w+|BASH_ENV|ENV|PROOT_\w+)$/;

/** Returns the part of a container's environment that programs of the host may see. */
export const safeEnvironment = (env: ReadonlyMap<string, string>): ReadonlyMap<string, string> =>
  new Map([...env].filter(([name]) => !loaderNames.test(name)));

/**
 * Returns the words of a command inside the container. Variables that the host's programs may not see are set there, by the image's `env`.
 *
 * @throws {AgentError} `failed_precondition` when they are needed and the image has no `env`
 */
export function guestWords(
  root: string,
  env: ReadonlyMap<string, string>,
  argv: readonly string[],
): readonly string[] {
  const hidden = [...env].filter(([name]) => loaderNames.test(name));
  if (hidden.length === 0) return argv;
  const found = programInRoot(root, 'env', { path: '/usr/bin:/bin', workingDir: '/' });
  if (found.path !== undefined)
    return [found.path, ...hidden.map(([name, value]) => `${name}=${value}`), ...argv];
  throw new AgentError(
    'failed_precondition',
    `the variable ${hidden[0]?.[0] ?? ''} needs the program env in the image, as the host's programs may not see it`,
  );
}
