// SPDX-License-Identifier: GPL-2.0-only
// The guest's address and RDMA device, and the shell.
#include "agent.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum
{
    NET_WAIT_US = 5000, // between two looks at what the kernel does in its own time
    NET_WAITS = 1000
};

static const uint8_t net_mapped[12] = {[10] = 0xff, [11] = 0xff}; // IPv4 in an IPv6 address

bool agent_net_gid(const char *text, union ibv_gid *gid)
{
    memcpy(gid->raw, net_mapped, sizeof net_mapped);
    return inet_pton(AF_INET, text, gid->raw + sizeof net_mapped) == 1 ||
           inet_pton(AF_INET6, text, gid->raw) == 1;
}

__attribute__((format(printf, 2, 3))) static bool net_shell(struct agent_call *call,
                                                            const char *format, ...)
{
    char line[200];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return system(line) == 0 || agent_fail(call, "failed: %s", line);
}

// Add a netlink attribute that is text to a message.
static void net_attribute(struct nlmsghdr *message, unsigned short type, const char *text)
{
    struct nlattr *attribute = (struct nlattr *)((char *)message + NLMSG_ALIGN(message->nlmsg_len));
    attribute->nla_type = type;
    attribute->nla_len = (unsigned short)(sizeof *attribute + strlen(text) + 1);
    strcpy((char *)(attribute + 1), text);
    message->nlmsg_len = NLMSG_ALIGN(message->nlmsg_len) + (unsigned)NLA_ALIGN(attribute->nla_len);
}

// What `rdma link add rxe0 type rxe netdev eth0` asks of the kernel.
static bool net_add_link(struct agent_call *call)
{
    union
    {
        struct nlmsghdr head;
        char bytes[512];
    } message = {.head = {.nlmsg_len = NLMSG_LENGTH(0),
                          .nlmsg_type = RDMA_NL_GET_TYPE(RDMA_NL_NLDEV, RDMA_NLDEV_CMD_NEWLINK),
                          .nlmsg_flags = NLM_F_REQUEST | NLM_F_ACK}};
    net_attribute(&message.head, RDMA_NLDEV_ATTR_DEV_NAME, "rxe0");
    net_attribute(&message.head, RDMA_NLDEV_ATTR_LINK_TYPE, "rxe");
    net_attribute(&message.head, RDMA_NLDEV_ATTR_NDEV_NAME, "eth0");
    int line = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_RDMA);
    const struct nlmsgerr *answer = NLMSG_DATA(&message.head);
    bool told = line >= 0 && send(line, &message, message.head.nlmsg_len, 0) > 0 &&
                recv(line, &message, sizeof message, 0) > 0;
    int error = !told ? errno : -answer->error;
    close(line);
    return error == 0 || agent_fail_errno(call, "rdma link add", error);
}

static bool net_is_ours(const union ibv_gid *gid, const char *address)
{
    char text[64] = "";
    union ibv_gid wanted;
    if (address != NULL)
    {
        snprintf(text, sizeof text, "%.*s", (int)strcspn(address, "/"), address);
    }
    return agent_net_gid(text, &wanted) && memcmp(gid, &wanted, sizeof wanted) == 0;
}

// Open rxe0 as soon as the kernel shows it, with GIDs for our addresses.
static bool net_find_device(struct agent_call *call)
{
    struct agent *agent = call->agent;
    const char *ip = agent_text(call, "ip");
    const char *ip6 = agent_text(call, "ip6");
    for (int wait = 0; wait < NET_WAITS; wait++)
    {
        int count = 0;
        struct ibv_device **list = agent->device == NULL ? ibv_get_device_list(&count) : NULL;
        if (count > 0)
        {
            agent->device = ibv_open_device(list[0]);
        }
        if (list != NULL)
        {
            ibv_free_device_list(list);
        }
        struct ibv_gid_entry entries[AGENT_GIDS];
        ssize_t known =
            agent->device == NULL ? 0 : ibv_query_gid_table(agent->device, entries, AGENT_GIDS, 0);
        for (ssize_t i = 0; i < known; i++)
        {
            int index = (int)entries[i].gid_index;
            agent->gid4 = net_is_ours(&entries[i].gid, ip) ? index : agent->gid4;
            agent->gid6 = net_is_ours(&entries[i].gid, ip6) ? index : agent->gid6;
        }
        if ((ip == NULL || agent->gid4 >= 0) && (ip6 == NULL || agent->gid6 >= 0) &&
            agent->device != NULL)
        {
            return true;
        }
        usleep(NET_WAIT_US);
    }
    return agent_fail(call, "no RDMA device, or no GID of its addresses");
}

// open ip=A.B.C.D/LEN ip6=ADDRESS/LEN mac=.. mtu=BYTES (of the Ethernet link, 1500)
// Once, before all else: gives eth0 its addresses and makes rxe0 and pd=0 cq=0. An `open` that
// fails leaves the guest useless. Answers gid4= gid6= (index, or -1) and the path MTU.
bool agent_net_open(struct agent_call *call)
{
    struct agent *agent = call->agent;
    const char *mac = agent_text(call, "mac");
    const char *ip = agent_text(call, "ip");
    const char *ip6 = agent_text(call, "ip6");
    if (agent->device != NULL)
    {
        return agent_fail(call, "it is open");
    }
    unsigned mtu = (unsigned)agent_number(call, "mtu", 1500);
    if ((mac != NULL && !net_shell(call, "ip link set eth0 address %s", mac)) ||
        !net_shell(call, "ip link set eth0 mtu %u", mtu) ||
        !net_shell(call, "ip link set eth0 up") ||
        (ip != NULL && !net_shell(call, "ip addr add %s dev eth0", ip)) ||
        (ip6 != NULL && !net_shell(call, "ip addr add %s dev eth0", ip6)) || !net_add_link(call) ||
        !net_find_device(call))
    {
        return false;
    }
    struct ibv_port_attr port;
    if (ibv_query_port(agent->device, 1, &port) != 0)
    {
        return agent_fail_errno(call, "query_port", errno);
    }
    fprintf(call->out, "gid4=%d gid6=%d mtu=%d\n", agent->gid4, agent->gid6,
            128 << port.active_mtu);
    return agent_objects_pd(call) && agent_objects_cq(call);
}

// sh COMMAND: lines `out TEXT` of both its outputs, then status=, 128 and more for a signal.
bool agent_net_sh(struct agent_call *call)
{
    char *line = NULL;
    size_t room = 0;
    if (asprintf(&line, "exec 2>&1; %s", call->rest) < 0)
    {
        return agent_fail_errno(call, "sh", errno);
    }
    FILE *pipe = popen(line, "r");
    if (pipe == NULL)
    {
        free(line);
        return agent_fail_errno(call, "sh", errno);
    }
    ssize_t length;
    while ((length = getline(&line, &room, pipe)) > 0)
    {
        line[strcspn(line, "\r\n")] = 0;
        fprintf(call->out, "out %s\n", line);
    }
    free(line);
    int status = pclose(pipe);
    fprintf(call->out, "status=%d\n",
            WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status));
    return true;
}
