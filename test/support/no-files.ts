import { AgentError } from '../../src/base/errors.ts';
import type { RuntimeFiles } from '../../src/containers/container/files.ts';

/** A file system that accepts every write and contains no files. */
export const noFiles: RuntimeFiles = {
  makeDirectory: async () => undefined,
  makeFile: async () => undefined,
  filesIn: async () => [],
  directoriesIn: async () => [],
  remove: async () => undefined,
  link: async () => undefined,
  exists: async () => false,
  readEnd: async (path) => {
    throw Object.assign(new AgentError('not_found', `no file ${path}`), { code: 'ENOENT' });
  },
};
