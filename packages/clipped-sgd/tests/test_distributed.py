"""Oracle 15 over gloo: DDP and FSDP2 with two processes equal one process on the averaged gradient."""

from datetime import timedelta

import pytest
import torch
import torch.distributed as dist
from iclr26_clipped_sgd import ClippedSGD, PowerSchedule

pytestmark = pytest.mark.skipif(not dist.is_available(), reason="torch was built without torch.distributed")
STEPS = 6


def model():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(5, 7), torch.nn.Tanh(), torch.nn.Linear(7, 3)).double()


def rows(k):
    return torch.randn(8, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(k)) * 10


def train(network, mine):
    optimizer = ClippedSGD(network.parameters(), PowerSchedule(lr=0.1, clip=0.5))
    clipped = 0
    for k in range(STEPS):
        optimizer.zero_grad()
        network(rows(k)[mine]).square().mean().backward()
        optimizer.step()
        clipped += optimizer.last_step.clipped
    return optimizer, clipped


def meet(rank, folder):
    torch.set_num_threads(1)
    limit = timedelta(seconds=120)
    dist.init_process_group("gloo", init_method=f"file://{folder}/meet", rank=rank, world_size=2, timeout=limit)


def train_replicated(rank, folder):
    meet(rank, folder)
    network = torch.nn.parallel.DistributedDataParallel(model())
    train(network, slice(rank, None, 2))
    torch.save([p.detach() for p in network.module.parameters()], f"{folder}/rank{rank}.pt")
    dist.destroy_process_group()


def train_sharded(rank, folder):
    meet(rank, folder)
    from torch.distributed.device_mesh import init_device_mesh
    from torch.distributed.fsdp import fully_shard

    network = model()
    fully_shard(network, mesh=init_device_mesh("cpu", (2,)))
    optimizer, _ = train(network, slice(rank, None, 2))
    torch.save([p.full_tensor() for p in network.parameters()], f"{folder}/rank{rank}.pt")
    for p in network.parameters():
        p.grad = p.grad * 0 + 1e200  # the sum of squares overflows, and all shards have to count
    optimizer.step()
    entries = sum(p.numel() for p in network.parameters())
    assert optimizer.last_step.grad_norm == pytest.approx(1e200 * entries**0.5, rel=1e-12)
    dist.destroy_process_group()


def check(work, folder):
    torch.multiprocessing.spawn(work, args=(str(folder),), nprocs=2)
    alone = model()
    _, clipped = train(alone, slice(None))
    assert clipped > 0
    for rank in range(2):
        for a, b in zip(alone.parameters(), torch.load(folder / f"rank{rank}.pt", weights_only=True), strict=True):
            torch.testing.assert_close(b, a.detach(), rtol=0, atol=1e-14)


def test_oracle_15_ddp_with_two_gloo_processes_equals_one(tmp_path):
    check(train_replicated, tmp_path)


@pytest.mark.slow
def test_oracle_15_fsdp2_with_two_gloo_processes_equals_one(tmp_path):
    check(train_sharded, tmp_path)
