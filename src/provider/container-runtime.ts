import type {
  AttachRequest,
  AttachResponse,
  CheckpointContainerRequest,
  CheckpointContainerResponse,
  ContainerEventResponse,
  ContainerStatsRequest,
  ContainerStatsResponse,
  ContainerStatusRequest,
  ContainerStatusResponse,
  CreateContainerRequest,
  CreateContainerResponse,
  ExecRequest,
  ExecResponse,
  ExecSyncRequest,
  ExecSyncResponse,
  GetEventsRequest,
  ImageFsInfoRequest,
  ImageFsInfoResponse,
  ImageStatusRequest,
  ImageStatusResponse,
  ListContainerStatsRequest,
  ListContainerStatsResponse,
  ListContainersRequest,
  ListContainersResponse,
  ListImagesRequest,
  ListImagesResponse,
  ListMetricDescriptorsRequest,
  ListMetricDescriptorsResponse,
  ListPodSandboxMetricsRequest,
  ListPodSandboxMetricsResponse,
  ListPodSandboxRequest,
  ListPodSandboxResponse,
  ListPodSandboxStatsRequest,
  ListPodSandboxStatsResponse,
  PodSandboxStatsRequest,
  PodSandboxStatsResponse,
  PodSandboxStatusRequest,
  PodSandboxStatusResponse,
  PortForwardRequest,
  PortForwardResponse,
  PullImageRequest,
  PullImageResponse,
  RemoveContainerRequest,
  RemoveContainerResponse,
  RemoveImageRequest,
  RemoveImageResponse,
  RemovePodSandboxRequest,
  RemovePodSandboxResponse,
  ReopenContainerLogRequest,
  ReopenContainerLogResponse,
  RunPodSandboxRequest,
  RunPodSandboxResponse,
  RuntimeConfigRequest,
  RuntimeConfigResponse,
  StartContainerRequest,
  StartContainerResponse,
  StatusRequest,
  StatusResponse,
  StopContainerRequest,
  StopContainerResponse,
  StopPodSandboxRequest,
  StopPodSandboxResponse,
  UpdateContainerResourcesRequest,
  UpdateContainerResourcesResponse,
  UpdatePodSandboxResourcesRequest,
  UpdatePodSandboxResourcesResponse,
  UpdateRuntimeConfigRequest,
  UpdateRuntimeConfigResponse,
  VersionRequest,
  VersionResponse,
} from './cri-messages.ts';

/** The deadline and the abort signal of a call. */
export interface CallOptions {
  readonly signal?: AbortSignal;
  /** The deadline of the call, ms; implementations have their own default. */
  readonly timeoutMs?: number;
}

/**
 * ContainerRuntime is a container runtime with the interface of CRI v1: a pod is a sandbox with containers. `kuberuntime` turns any of them
 * into a {@link PodProvider}. Optional members may be absent; callers then fall back as the kubelet does when a runtime returns
 * UNIMPLEMENTED.
 *
 * @throws {AgentError} `not_found`, `invalid_argument`, `deadline_exceeded`, `unavailable` (reconnecting), `unimplemented`, else `internal`
 */
export interface ContainerRuntime {
  version(request: VersionRequest, options?: CallOptions): Promise<VersionResponse>;
  runPodSandbox(request: RunPodSandboxRequest, options?: CallOptions): Promise<RunPodSandboxResponse>;
  stopPodSandbox(request: StopPodSandboxRequest, options?: CallOptions): Promise<StopPodSandboxResponse>;
  removePodSandbox(
    request: RemovePodSandboxRequest,
    options?: CallOptions,
  ): Promise<RemovePodSandboxResponse>;
  podSandboxStatus(
    request: PodSandboxStatusRequest,
    options?: CallOptions,
  ): Promise<PodSandboxStatusResponse>;
  listPodSandbox(request: ListPodSandboxRequest, options?: CallOptions): Promise<ListPodSandboxResponse>;
  createContainer(request: CreateContainerRequest, options?: CallOptions): Promise<CreateContainerResponse>;
  startContainer(request: StartContainerRequest, options?: CallOptions): Promise<StartContainerResponse>;
  stopContainer(request: StopContainerRequest, options?: CallOptions): Promise<StopContainerResponse>;
  removeContainer(request: RemoveContainerRequest, options?: CallOptions): Promise<RemoveContainerResponse>;
  listContainers(request: ListContainersRequest, options?: CallOptions): Promise<ListContainersResponse>;
  containerStatus(request: ContainerStatusRequest, options?: CallOptions): Promise<ContainerStatusResponse>;
  updateContainerResources?(
    request: UpdateContainerResourcesRequest,
    options?: CallOptions,
  ): Promise<UpdateContainerResourcesResponse>;
  reopenContainerLog?(
    request: ReopenContainerLogRequest,
    options?: CallOptions,
  ): Promise<ReopenContainerLogResponse>;
  execSync?(request: ExecSyncRequest, options?: CallOptions): Promise<ExecSyncResponse>;
  exec?(request: ExecRequest, options?: CallOptions): Promise<ExecResponse>;
  attach?(request: AttachRequest, options?: CallOptions): Promise<AttachResponse>;
  portForward?(request: PortForwardRequest, options?: CallOptions): Promise<PortForwardResponse>;
  containerStats?(request: ContainerStatsRequest, options?: CallOptions): Promise<ContainerStatsResponse>;
  listContainerStats?(
    request: ListContainerStatsRequest,
    options?: CallOptions,
  ): Promise<ListContainerStatsResponse>;
  podSandboxStats?(request: PodSandboxStatsRequest, options?: CallOptions): Promise<PodSandboxStatsResponse>;
  listPodSandboxStats?(
    request: ListPodSandboxStatsRequest,
    options?: CallOptions,
  ): Promise<ListPodSandboxStatsResponse>;
  updateRuntimeConfig?(
    request: UpdateRuntimeConfigRequest,
    options?: CallOptions,
  ): Promise<UpdateRuntimeConfigResponse>;
  status(request: StatusRequest, options?: CallOptions): Promise<StatusResponse>;
  checkpointContainer?(
    request: CheckpointContainerRequest,
    options?: CallOptions,
  ): Promise<CheckpointContainerResponse>;
  getContainerEvents?(
    request: GetEventsRequest,
    options?: CallOptions,
  ): AsyncIterable<ContainerEventResponse>;
  listMetricDescriptors?(
    request: ListMetricDescriptorsRequest,
    options?: CallOptions,
  ): Promise<ListMetricDescriptorsResponse>;
  listPodSandboxMetrics?(
    request: ListPodSandboxMetricsRequest,
    options?: CallOptions,
  ): Promise<ListPodSandboxMetricsResponse>;
  runtimeConfig?(request: RuntimeConfigRequest, options?: CallOptions): Promise<RuntimeConfigResponse>;
  updatePodSandboxResources?(
    request: UpdatePodSandboxResourcesRequest,
    options?: CallOptions,
  ): Promise<UpdatePodSandboxResourcesResponse>;
}

/** The image service of CRI v1. For an unknown image `imageStatus` returns an empty response, not an error. */
export interface ImageService {
  listImages(request: ListImagesRequest, options?: CallOptions): Promise<ListImagesResponse>;
  imageStatus(request: ImageStatusRequest, options?: CallOptions): Promise<ImageStatusResponse>;
  pullImage(request: PullImageRequest, options?: CallOptions): Promise<PullImageResponse>;
  removeImage(request: RemoveImageRequest, options?: CallOptions): Promise<RemoveImageResponse>;
  imageFsInfo(request: ImageFsInfoRequest, options?: CallOptions): Promise<ImageFsInfoResponse>;
}
