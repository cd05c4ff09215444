import { isAbsolute } from 'node:path';
import { ownMember } from './own.ts';

/** The text of each Linux error code in Go; Node.js words many of them differently. */
const words: Readonly<Record<string, string>> = {
  E2BIG: 'argument list too long',
  EACCES: 'permission denied',
  EAGAIN: 'resource temporarily unavailable',
  EBADF: 'bad file descriptor',
  EBUSY: 'device or resource busy',
  EDQUOT: 'disk quota exceeded',
  EEXIST: 'file exists',
  EFBIG: 'file too large',
  EINTR: 'interrupted system call',
  EINVAL: 'invalid argument',
  EIO: 'input/output error',
  EISDIR: 'is a directory',
  ELOOP: 'too many levels of symbolic links',
  EMFILE: 'too many open files',
  EMLINK: 'too many links',
  ENAMETOOLONG: 'file name too long',
  ENFILE: 'too many open files in system',
  ENODEV: 'no such device',
  ENOENT: 'no such file or directory',
  ENOEXEC: 'exec format error',
  ENOMEM: 'cannot allocate memory',
  ENOSPC: 'no space left on device',
  ENOTDIR: 'not a directory',
  ENOTEMPTY: 'directory not empty',
  ENOTSUP: 'operation not supported',
  ENXIO: 'no such device or address',
  EOPNOTSUPP: 'operation not supported',
  EOVERFLOW: 'value too large for defined data type',
  EPERM: 'operation not permitted',
  EPIPE: 'broken pipe',
  EROFS: 'read-only file system',
  ESRCH: 'no such process',
  ESTALE: 'stale NFS file handle',
  ETIMEDOUT: 'connection timed out',
  ETXTBSY: 'text file busy',
  EXDEV: 'invalid cross-device link',
};

/** The system calls that have another name in Go's errors. */
const calls: Readonly<Record<string, string>> = {
  copyfile: 'open',
  fchmod: 'chmod',
  fchown: 'chown',
  fstat: 'stat',
  ftruncate: 'truncate',
  futime: 'chtimes',
  lutime: 'chtimes',
  mkdtemp: 'mkdir',
  opendir: 'open',
  realpath: 'lstat',
  rm: 'unlink',
  rmdir: 'remove',
  scandir: 'open',
  unlink: 'remove',
  utime: 'chtimes',
};

interface SystemError extends Partial<NodeJS.ErrnoException> {
  readonly dest?: string;
}

/**
 * Converts a failed file operation or program start to Go's wording (`mkdir /a: read-only file system`,
 * `exec: "x": executable file not found in $PATH`); returns `undefined` for all other errors, including those of connections.
 */
export function systemFault(reason: Error): string | undefined {
  const { code = '', syscall = '', path = '', dest, message = '' } = reason as SystemError;
  const why = ownMember(words, code);
  if (why === undefined) return undefined;
  if (syscall.startsWith('spawn')) return programFault(path || syscall.slice('spawn '.length), code, why);
  // a message that this package wrote around the error is not changed
  if (!message.startsWith(`${code}: `)) return undefined;
  const call = ownMember(calls, syscall) ?? syscall;
  return `${[call, path, dest].filter((part) => part !== undefined && part !== '').join(' ')}: ${why}`;
}

function programFault(program: string, code: string, why: string): string {
  if (program === '' || isAbsolute(program)) return `fork/exec ${program}: ${why}`;
  const isUnknown = code === 'ENOENT' && !program.includes('/');
  return `exec: "${program}": ${isUnknown ? 'executable file not found in $PATH' : why}`;
}
