import { realpathSync } from 'node:fs';
import { join } from 'node:path';
import { pathInRoot, programInRoot } from './in-root.ts';

/** A command of a container, as its image and its spec have it. */
export interface PlainCommand {
  readonly argv: readonly string[];
  readonly env: ReadonlyMap<string, string>;
  readonly workingDir: string;
}

/** Returns how the host starts a command in the root directory of a container without isolation. */
export function plainCommand(
  root: string,
  { argv, env, workingDir }: PlainCommand,
): Pick<PlainCommand, 'argv' | 'workingDir'> {
  const [name = '', ...args] = argv;
  const found = programInRoot(root, name, { path: env.get('PATH') ?? '', workingDir });
  const program = found.path === undefined ? name : hostPath(root, found.path);
  return { workingDir: pathInRoot(root, workingDir), argv: [program, ...args] };
}

/** Returns the environment of a container without isolation: its search path finds the image's programs first, then the host's. */
export function plainEnvironment(
  root: string,
  env: ReadonlyMap<string, string>,
): ReadonlyMap<string, string> {
  const path = env.get('PATH');
  if (path === undefined) return env;
  const inRoot = path.split(':').flatMap((one) => (one.startsWith('/') ? [join(root, one)] : []));
  return new Map([...env, ['PATH', [...inRoot, path].join(':')]]);
}

/**
 * Returns the path on the host of a program in a root directory. It ends in the program's own name unless links lead elsewhere on the host, as some
 * programs, such as busybox, act by the name that they are started with.
 */
function hostPath(root: string, path: string): string {
  const [named, target] = [join(root, path), pathInRoot(root, path)];
  try {
    return realpathSync(named) === realpathSync(target) ? named : target;
  } catch {
    return target;
  }
}
