import { WireReader, WireWriter } from '../../base/protobuf-wire.ts';

/** A container of the answer: there are no devices, exclusive CPUs or memory blocks to tell of. */
export interface ContainerResources {
  readonly name: string;
}

/** What a pod was given. */
export interface PodResources {
  readonly name: string;
  readonly namespace: string;
  readonly containers: readonly ContainerResources[];
}

/** Whom `Get` asks about. */
export interface GetRequest {
  readonly podName: string;
  readonly podNamespace: string;
}

/** `ListPodResourcesResponse`, of `v1` and of `v1alpha1`. */
export const encodeList = (pods: readonly PodResources[]): Buffer =>
  written((writer) => {
    for (const pod of pods)
      message(writer, 1, () => {
        writePod(writer, pod);
      });
  });

/** `GetPodResourcesResponse`. */
export const encodeGet = (pod: PodResources): Buffer =>
  written((writer) => {
    message(writer, 1, () => {
      writePod(writer, pod);
    });
  });

/** `AllocatableResourcesResponse` of a node that gives out no devices, CPUs or memory blocks. */
export const encodeAllocatable = (): Buffer => Buffer.alloc(0);

/** `GetPodResourcesRequest`. @throws {AgentError} `internal` on bytes that are no message */
export function decodeGet(bytes: Uint8Array): GetRequest {
  const reader = new WireReader(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength));
  const fields = ['', '', ''];
  while (reader.at < reader.end) {
    const tag = reader.uint32();
    if (tag === 10 || tag === 18) fields[tag >>> 3] = reader.string();
    else reader.skip(tag & 7);
  }
  const [, podName = '', podNamespace = ''] = fields;
  return { podName, podNamespace };
}

function written(write: (writer: WireWriter) => void): Buffer {
  const writer = new WireWriter();
  write(writer);
  return writer.finish();
}

function message(writer: WireWriter, number: number, write: () => void): void {
  writer.tag(number, 2);
  writer.within(write);
}

function text(writer: WireWriter, number: number, value: string): void {
  if (value === '') return;
  writer.tag(number, 2);
  writer.string(value);
}

function writePod(writer: WireWriter, { name, namespace, containers }: PodResources): void {
  text(writer, 1, name);
  text(writer, 2, namespace);
  for (const container of containers)
    message(writer, 3, () => {
      text(writer, 1, container.name);
    });
}
