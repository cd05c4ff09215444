import { mkdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type {
  sendUnaryData,
  ServerUnaryCall,
  status as Status,
  UntypedServiceImplementation,
} from '@grpc/grpc-js';
import { AgentError, messageOf } from '../../base/errors.ts';
import { decodeGet, encodeAllocatable, encodeGet, encodeList } from './messages.ts';
import type { PodResourcesService } from './service.ts';

/** A gRPC method: its path and its handler. */
type Method = readonly [path: string, answer: (request: Buffer) => Buffer];

const methodsOf = (service: PodResourcesService): readonly Method[] => [
  ['/v1.PodResourcesLister/List', () => encodeList(service.list('v1'))],
  ['/v1.PodResourcesLister/Get', (request) => encodeGet(service.get(decodeGet(request)))],
  [
    '/v1.PodResourcesLister/GetAllocatableResources',
    () => {
      service.allocatable();
      return encodeAllocatable();
    },
  ],
  ['/v1alpha1.PodResourcesLister/List', () => encodeList(service.list('v1alpha1'))],
];

/** Maximum number of concurrent calls per connection. */
const mostStreams = 100;
/** Maximum size of a request, bytes; it holds at most a namespace and a name. */
const mostBytes = 64 * 1024;
/** Time after which an idle connection is closed, ms. */
const idleMs = 15 * 60_000;

const bytes = (value: Buffer): Buffer => value;

/**
 * Serves the kubelet's pod resources API over gRPC on a Unix socket; replaces a socket that an earlier agent left (kubelet
 * `ListenAndServePodResources`).
 *
 * @returns a function that stops the server
 * @throws {AgentError} `unavailable` when listening fails
 */
export async function servePodResources(
  service: PodResourcesService,
  socket: string,
): Promise<{ close(): void }> {
  const { Server, ServerCredentials, status } = await import('@grpc/grpc-js');
  const codeOf = (reason: unknown): Status =>
    reason instanceof AgentError && reason.code === 'resource_exhausted'
      ? status.RESOURCE_EXHAUSTED
      : status.UNKNOWN;
  const server = new Server({
    'grpc.enable_channelz': 0,
    'grpc.max_concurrent_streams': mostStreams,
    'grpc.max_receive_message_length': mostBytes,
    'grpc.max_connection_idle_ms': idleMs,
  });
  for (const [path, answer] of methodsOf(service)) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    const handlers: UntypedServiceImplementation = {
      [name]: ({ request }: ServerUnaryCall<Buffer, Buffer>, reply: sendUnaryData<Buffer>) => {
        try {
          reply(null, answer(request));
        } catch (reason) {
          reply({ code: codeOf(reason), details: messageOf(reason) });
        }
      },
    };
    const shape = { path, requestStream: false, responseStream: false } as const;
    const codecs = {
      requestSerialize: bytes,
      requestDeserialize: bytes,
      responseSerialize: bytes,
      responseDeserialize: bytes,
    };
    server.addService({ [name]: { ...shape, ...codecs } }, handlers);
  }
  mkdirSync(dirname(socket), { recursive: true, mode: 0o750 });
  rmSync(socket, { force: true });
  await new Promise<void>((resolve, reject) => {
    server.bindAsync(`unix://${socket}`, ServerCredentials.createInsecure(), (fault) => {
      if (fault)
        reject(
          new AgentError('unavailable', `cannot listen on ${socket}: ${fault.message}`, { cause: fault }),
        );
      else resolve();
    });
  });
  return {
    close: () => {
      server.forceShutdown();
      rmSync(socket, { force: true });
    },
  };
}
