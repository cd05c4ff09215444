import { tableOf } from '../base/own.ts';
import { messageOf } from '../base/errors.ts';

/** What the system says of each refusal, for Node.js words many of them otherwise. */
const words: Readonly<Record<string, string>> = tableOf({
  EACCES: 'permission denied',
  EBUSY: 'device or resource busy',
  EEXIST: 'file exists',
  EIO: 'input/output error',
  EISDIR: 'is a directory',
  ELOOP: 'too many levels of symbolic links',
  EMFILE: 'too many open files',
  ENAMETOOLONG: 'file name too long',
  ENOENT: 'no such file or directory',
  ENOSPC: 'no space left on device',
  ENOTDIR: 'not a directory',
  EPERM: 'operation not permitted',
  EROFS: 'read-only file system',
});

/** What Go says of a call on a file that failed (`mkdir /a: read-only file system`); the text of any other thrown value. */
export function fileFault(reason: unknown): string {
  const { code = '', syscall = '', path = '' } = (reason ?? {}) as NodeJS.ErrnoException;
  const why = words[code];
  return why === undefined || path === '' ? messageOf(reason) : `${syscall} ${path}: ${why}`;
}
