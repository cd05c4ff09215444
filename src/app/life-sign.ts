import { spawnSync } from 'node:child_process';
import { closeSync, constants, openSync } from 'node:fs';

/** LifeSign is a pipe that a process holds open while it lives; the kernel closes it even when the process is killed. */
export interface LifeSign {
  end(): void;
}

/** Timeout of `mkfifo`, ms. */
const mkfifoMs = 5000;

/**
 * Holds a named pipe open for reading. Processes that see the same file, also in other PID namespaces, detect by {@link isHeld} that this
 * process lives. Where no pipe can be created there is no sign.
 */
export function holdSign(path: string): LifeSign {
  const pipe = openPipe(path, constants.O_RDONLY) ?? createPipe(path);
  return {
    end: () => {
      if (pipe !== undefined) closeSync(pipe);
    },
  };
}

function createPipe(path: string): number | undefined {
  spawnSync('mkfifo', ['-m', '600', '--', path], { stdio: 'ignore', timeout: mkfifoMs });
  return openPipe(path, constants.O_RDONLY);
}

/** Reports whether a live process holds the sign: a pipe without a reader cannot be opened for writing. */
export function isHeld(path: string): boolean {
  const pipe = openPipe(path, constants.O_WRONLY);
  if (pipe === undefined) return false;
  closeSync(pipe);
  return true;
}

function openPipe(path: string, how: number): number | undefined {
  try {
    return openSync(path, how | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  } catch {
    return undefined;
  }
}
